// Requests to the server of this page. The API key, if one is required, is stored for this tab only.

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

export const apiKey = {
  get: () => sessionStorage.getItem(KEY),
  set: (text: string) => sessionStorage.setItem(KEY, text),
  remove: () => sessionStorage.removeItem(KEY),
};

export function headers(): Record<string, string> {
  const headers: Record<string, string> = { "X-Menace-Dashboard": "1" };
  const key = apiKey.get();
  if (key) headers["Authorization"] = `Bearer ${key}`;
  return headers;
}

export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function errorOf(response: Response): Promise<ApiError> {
  try {
    const { error } = await response.json();
    return new ApiError(response.status, error.code, error.message, error.hint);
  } catch {
    return new ApiError(response.status, "unknown", `${response.status} ${response.statusText}`);
  }
}

export async function request(path: string, options: RequestInit = {}): Promise<Response> {
  const response = await fetch(path, { ...options, headers: { ...headers(), ...options.headers } });
  if (!response.ok) throw await errorOf(response);
  return response;
}

export async function get<T>(path: string): Promise<T> {
  return (await request(path)).json() as Promise<T>;
}

/** GET below `/api/dashboard`. */
export function getDashboard<T>(path: string): Promise<T> {
  return get<T>(`/api/dashboard${path}`);
}

export async function send<T>(method: string, path: string, body?: unknown): Promise<T | undefined> {
  const options: RequestInit = { method };
  if (body !== undefined) {
    options.body = JSON.stringify(body);
    options.headers = { "Content-Type": "application/json" };
  }
  const response = await request(path, options);
  return response.status === 204 ? undefined : ((await response.json()) as T);
}

/** Query string of an address, without empty values. */
export function query(values: Record<string, string | number | null | undefined>): string {
  const given = Object.entries(values).filter(([, value]) => value !== null && value !== undefined && value !== "");
  const text = new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString();
  return text && `?${text}`;
}
