// Server-sent events over fetch: unlike EventSource it can send a key, and goes on after the event that was seen last.

import { headers } from "./api";

export interface RunEvent {
  id: number;
  run: string;
  at_ms: number;
  kind: string;
  detail: Record<string, unknown>;
}

const AGAIN_MS = 1000;

/** Tells what happens until the returned function is called. `state` is told whether the server is there. */
export function follow(tell: (event: RunEvent) => void, state: (live: boolean) => void): () => void {
  const stop = new AbortController();
  let last: number | null = null;
  const run = async () => {
    while (!stop.signal.aborted) {
      try {
        const asked: Record<string, string> = last === null ? {} : { "Last-Event-ID": String(last) };
        const response = await fetch("/api/dashboard/events/stream", { headers: { ...headers(), ...asked }, signal: stop.signal });
        if (!response.ok || !response.body) throw new Error(String(response.status));
        state(true);
        await read(response.body, (event) => {
          last = event.id;
          tell(event);
        });
      } catch {
        if (stop.signal.aborted) return;
      }
      state(false);
      await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
    }
  };
  void run();
  return () => stop.abort();
}

async function read(body: ReadableStream<Uint8Array<ArrayBuffer>>, tell: (event: RunEvent) => void) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += value;
    const blocks = rest.split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = block.split("\n").filter((line) => line.startsWith("data:"));
      if (data.length) tell(JSON.parse(data.map((line) => line.slice(5)).join("\n")));
    }
  }
}
