// What the console uses of Phoenix's client.
declare module "phoenix" {
  export interface Push {
    receive(status: "ok" | "error" | "timeout", then: (answer: unknown) => void): Push;
  }
  export interface Channel {
    on(event: string, then: (payload: unknown) => void): number;
    join(): Push;
    leave(): Push;
    onClose(then: () => void): number;
  }
  export interface Options {
    authToken: () => string;
    heartbeatIntervalMs?: number;
    reconnectAfterMs?: (tries: number) => number;
    rejoinAfterMs?: (tries: number) => number;
  }
  export class Socket {
    constructor(path: string, options: Options);
    connect(): void;
    disconnect(then?: () => void): void;
    isConnected(): boolean;
    channel(topic: string, parameters?: object): Channel;
    onOpen(then: () => void): string;
    onClose(then: (event: { code: number; reason: string }) => void): string;
    onError(then: () => void): string;
  }
}
