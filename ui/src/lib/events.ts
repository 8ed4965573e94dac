// Server-sent events over fetch: unlike EventSource it can send an API key. It reconnects after the last received event.

import { headers } from "./api";

export interface RunEvent {
  id: number;
  run: string;
  at_ms: number;
  kind: string;
  detail: Record<string, unknown>;
}

const RECONNECT_MS = 1000;

/** Calls `onEvent` for each event and `onConnection` when the connection changes. Returns a function that unsubscribes. */
export function subscribe(onEvent: (event: RunEvent) => void, onConnection: (isConnected: boolean) => void): () => void {
  const abort = new AbortController();
  let last: number | null = null;
  const run = async () => {
    while (!abort.signal.aborted) {
      try {
        const resume: Record<string, string> = last === null ? {} : { "Last-Event-ID": String(last) };
        const response = await fetch("/api/dashboard/events/stream", { headers: { ...headers(), ...resume }, signal: abort.signal });
        if (!response.ok || !response.body) throw new Error(String(response.status));
        onConnection(true);
        await readEvents(response.body, (event) => {
          last = event.id;
          onEvent(event);
        });
      } catch {
        if (abort.signal.aborted) return;
      }
      onConnection(false);
      await new Promise((resolve) => setTimeout(resolve, RECONNECT_MS));
    }
  };
  void run();
  return () => abort.abort();
}

async function readEvents(body: ReadableStream<Uint8Array<ArrayBuffer>>, onEvent: (event: RunEvent) => void) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let buffer = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    buffer += value;
    const blocks = buffer.split("\n\n");
    buffer = blocks.pop() ?? "";
    for (const block of blocks) {
      const data = block.split("\n").filter((line) => line.startsWith("data:"));
      if (data.length) onEvent(JSON.parse(data.map((line) => line.slice(5)).join("\n")));
    }
  }
}
