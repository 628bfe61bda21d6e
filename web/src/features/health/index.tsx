/** How cmux itself is: its parts, its daemon and store, what ended, and how it was in the last hour. */

import { describeCondition } from "../../shared/describe";
import { Page } from "../../shared/page";
import { DaemonSection, StoreSection } from "./daemon";
import { Ends } from "./ends-section";
import { Parts } from "./parts";
import { Plots } from "./plots";
import { useHealth, useVitals } from "./use-vitals";

/** The parts of cmux and their state. */
export function HealthPage() {
  const { health } = useHealth();
  const vitals = useVitals();
  return (
    <Page title="Health" detail={health && describeCondition(health.status).label}>
      <div className="min-h-0 flex-1 overflow-y-auto">
        <div className="mx-auto flex max-w-6xl flex-col gap-6 px-3 py-5 rail:px-6 min-[120rem]:max-w-[110rem]">
          <div className="grid items-start gap-x-4 gap-y-6 wide:grid-cols-2">
            <Parts />
            <Ends samples={vitals.samples} />
          </div>
          <section className="flex flex-col gap-2">
            <h2 className="text-base font-semibold">The last hour</h2>
            <Plots vitals={vitals} />
          </section>
          <div className="grid items-start gap-x-4 gap-y-6 wide:grid-cols-2">
            <DaemonSection />
            <StoreSection />
          </div>
        </div>
      </div>
    </Page>
  );
}
