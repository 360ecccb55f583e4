/** null: there is no whole answer within a second. */
export async function ask(url: string, init: RequestInit = {}): Promise<Response | null> {
  try {
    const answer = await fetch(url, { ...init, signal: AbortSignal.timeout(1_000) })
    return new Response(await answer.arrayBuffer(), answer)
  } catch {
    return null
  }
}
