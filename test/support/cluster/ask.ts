/** null: there is no answer within a second. */
export async function ask(url: string, init: RequestInit = {}): Promise<Response | null> {
  try {
    return await fetch(url, { ...init, signal: AbortSignal.timeout(1_000) })
  } catch {
    return null
  }
}
