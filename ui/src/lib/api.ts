// Requests to the server that this page came from. A key, where one is needed, is kept for this tab alone.

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly hint?: string,
  ) {
    super(message);
  }
}

const KEY = "menace-key";

export const key = {
  get: () => sessionStorage.getItem(KEY),
  set: (text: string) => sessionStorage.setItem(KEY, text),
  forget: () => sessionStorage.removeItem(KEY),
};

export function headers(): Record<string, string> {
  const sent: Record<string, string> = { "X-Menace-Dashboard": "1" };
  const known = key.get();
  if (known) sent["Authorization"] = `Bearer ${known}`;
  return sent;
}

async function failed(response: Response): Promise<ApiError> {
  try {
    const { error } = await response.json();
    return new ApiError(response.status, error.code, error.message, error.hint);
  } catch {
    return new ApiError(response.status, "unknown", `${response.status} ${response.statusText}`);
  }
}

export async function ask(path: string, options: RequestInit = {}): Promise<Response> {
  const response = await fetch(path, { ...options, headers: { ...headers(), ...options.headers } });
  if (!response.ok) throw await failed(response);
  return response;
}

export async function get<T>(path: string): Promise<T> {
  return (await ask(path)).json() as Promise<T>;
}

/** From the dashboard's own part of the API. */
export function data<T>(path: string): Promise<T> {
  return get<T>(`/api/dashboard${path}`);
}

export async function send<T>(method: string, path: string, body?: unknown): Promise<T | undefined> {
  const options: RequestInit = { method };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { "Content-Type": "application/json" };
  }
  const response = await ask(path, options);
  return response.status === 204 ? undefined : ((await response.json()) as T);
}

/** What is asked for, in an address. */
export function query(values: Record<string, string | number | null | undefined>): string {
  const known = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(known.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}
