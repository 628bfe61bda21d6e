/** The dialog that asks for a new agent. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { FolderPlus } from "lucide-react";
import { type FormEvent, useState } from "react";
import { inWords } from "../../api/request";
import { listKinds, spawnAgent } from "../../api/routes";
import { learnAgent } from "../../feed/follow";
import { useAgents, useProjects } from "../../feed/store";
import { Button } from "../../shared/button";
import { Dialog, DialogBody, DialogFoot } from "../../shared/dialog";
import { Empty, ErrorNote, Skeleton } from "../../shared/empty";
import { type Option, Select, TextArea, TextField } from "../../shared/field";
import { go } from "../../shared/go";
import { readStored, writeStored } from "../../shared/theme";
import { toast } from "../../shared/toast";
import type { Kind, NewAgent } from "../../wire";

type Props = { open: boolean; onClose: () => void; project: string | undefined };

export function SpawnDialog({ open, onClose, project }: Props) {
  return (
    <Dialog
      open={open}
      onClose={onClose}
      title="Spawn an agent"
      detail="It is started in a tmux window of its own, and kept running."
    >
      <SpawnForm onClose={onClose} project={project} />
    </Dialog>
  );
}

/** The kind that was asked for last in this browser. */
const KIND = "cmux.spawn.kind";

function SpawnForm({ onClose, project }: Omit<Props, "open">) {
  const query = useQuery({ queryKey: ["kinds"], queryFn: ({ signal }) => listKinds(signal) });
  const projects = useProjects();
  if (projects.length === 0) return <NoProject />;
  if (query.isError) return <ErrorNote error={query.error} onRetry={() => void query.refetch()} />;
  if (query.isPending) return <Skeleton className="mx-4 mb-4 h-96" />;
  return <Form kinds={query.data.kinds} onClose={onClose} project={project} />;
}

/** Says what to do where an agent would belong to no project. It gives way to the form as soon as there is one. */
function NoProject() {
  return (
    <Empty icon={FolderPlus} title="There is no project to spawn it in" command="cmux up">
      Run this in a repository. It registers the project, and starts a supervisor for it.
    </Empty>
  );
}

/** Returns the kind to begin with: the last one, or the first that is there. */
function firstKind(kinds: ReadonlyArray<Kind>, used: string | undefined): string {
  const here = kinds.filter(({ program }) => program !== null);
  const wanted = [readStored(KIND), used].find((name) => here.some((kind) => kind.name === name));
  return wanted ?? here[0]?.name ?? "";
}

function kindOptions(kinds: ReadonlyArray<Kind>): Option[] {
  const option = ({ name, title, program, version, install }: Kind): Option => {
    if (program === null) {
      return { value: name, label: title, note: `Not installed: ${install}`, disabled: true };
    }
    return { value: name, label: title, note: version ?? program };
  };
  const isHere = (kind: Kind) => kind.program !== null;
  return [...kinds.filter(isHere), ...kinds.filter((kind) => !isHere(kind))].map(option);
}

/** Returns a name that nobody in the project has: `worker-1`, `worker-2`… */
function freeName(role: string, taken: ReadonlySet<string>): string {
  const base = /^[A-Za-z][A-Za-z0-9_-]*$/.test(role) ? role : "worker";
  if (base === "supervisor" && !taken.has(base)) return base;
  for (let n = 1; ; n += 1) {
    if (!taken.has(`${base}-${n}`)) return `${base}-${n}`;
  }
}

function Form(props: {
  kinds: ReadonlyArray<Kind>;
  onClose: () => void;
  project: string | undefined;
}) {
  const projects = useProjects();
  const agents = useAgents();
  const [project, setProject] = useState(props.project ?? projects[0]?.id ?? "");
  const [kind, setKind] = useState(() => firstKind(props.kinds, agents[0]?.kind));
  const [role, setRole] = useState("worker");
  const [name, setName] = useState("");
  const [task, setTask] = useState("");
  const taken = new Set(agents.filter((it) => it.project === project).map((it) => it.name));
  const suggested = freeName(role.trim(), taken);
  const spawn = useMutation({
    mutationFn: (asked: NewAgent) => spawnAgent(asked),
    onSuccess: (agent) => {
      writeStored(KIND, agent.kind);
      learnAgent(agent);
      const open = () => go({ to: "/agents/$agent", params: { agent: agent.id } });
      toast(`${agent.name} is spawned`, { action: { label: "Open", run: open } });
      props.onClose();
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    spawn.mutate({
      project,
      kind,
      name: name.trim() || suggested,
      role: role.trim() || "worker",
      task: task.trim() || null,
    });
  };
  const isMissing = kind === "";
  return (
    <form onSubmit={submit} className="flex min-h-0 flex-1 flex-col">
      <DialogBody>
        <div className="grid gap-4 rail:grid-cols-2">
          <Select
            label="Project"
            value={project}
            onChange={setProject}
            options={projects.map(({ id, name: label }) => ({ value: id, label }))}
          />
          <Select
            label="Kind"
            value={kind}
            onChange={setKind}
            options={kindOptions(props.kinds)}
            placeholder="None is installed"
            error={isMissing ? "Install an agent's CLI first: `cmux doctor` says how." : undefined}
          />
          <TextField
            label="Role"
            value={role}
            onChange={(event) => setRole(event.target.value)}
            hint="What it is in its team"
            autoComplete="off"
          />
          <TextField
            label="Name"
            value={name}
            onChange={(event) => setName(event.target.value)}
            placeholder={suggested}
            hint="Letters, digits, - and _"
            error={taken.has(name.trim()) ? "An agent of the project has this name" : undefined}
            autoComplete="off"
            spellCheck={false}
            autoFocus
          />
          <div className="rail:col-span-2">
            <TextArea
              label="First task"
              value={task}
              onChange={(event) => setTask(event.target.value)}
              placeholder="What it is to do first. It can be told later, too."
              rows={4}
            />
          </div>
        </div>
        {spawn.isError && (
          <p role="alert" className="mt-4 rounded-md bg-failed-soft px-3 py-2 text-failed">
            {inWords(spawn.error).detail}
          </p>
        )}
      </DialogBody>
      <DialogFoot>
        <Button onClick={props.onClose}>Cancel</Button>
        <Button
          type="submit"
          look="primary"
          busy={spawn.isPending}
          disabled={isMissing || project === "" || taken.has(name.trim())}
        >
          Spawn
        </Button>
      </DialogFoot>
    </form>
  );
}
