/** A way to the daemon that can be cut: what a browser says to the daemon's port goes through here. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** How the way is: open, closed to everybody, or so that nothing comes through and nobody is told. */
export type Way = "open" | "closed" | "silent";

export class Relay {
  private readonly server = createServer((near) => this.join(near));
  private readonly sockets = new Set<Socket>();
  private readonly port: number;
  private way: Way = "open";

  private constructor(port: number) {
    this.port = port;
  }

  /** Begins to pass on what is said to whoever listens at `port`. */
  static async to(port: number): Promise<Relay> {
    const relay = new Relay(port);
    relay.server.listen(0, "127.0.0.1");
    await once(relay.server, "listening");
    return relay;
  }

  /** What has a browser take this way. */
  get flag(): string {
    const { port } = this.server.address() as AddressInfo;
    return `--host-resolver-rules=MAP 127.0.0.1:${this.port} 127.0.0.1:${port}`;
  }

  set(way: Way): void {
    this.way = way;
    for (const socket of this.sockets) {
      if (way === "open") socket.resume();
      if (way === "silent") socket.pause();
      if (way === "closed") socket.resetAndDestroy();
    }
  }

  close(): void {
    this.set("closed");
    this.server.close();
  }

  private join(near: Socket): void {
    if (this.way === "closed") {
      near.resetAndDestroy();
      return;
    }
    const far = connect(this.port, "127.0.0.1");
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(from);
      // Written by hand: a pipe would go on by itself.
      from.on("data", (bytes) => to.write(bytes));
      from.on("end", () => to.end());
      from.on("error", () => to.destroy());
      from.on("close", () => {
        this.sockets.delete(from);
        to.destroy();
      });
      if (this.way === "silent") from.pause();
    }
  }
}
