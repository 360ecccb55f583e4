/**
 * The same call, made once at a time: who asks while it is under way gets its answer. For what anybody may ask for as often as they like,
 * and what takes a connection from others.
 */
export function sharedCall<T>(call: () => Promise<T>): () => Promise<T> {
  let underWay: Promise<T> | null = null
  return () => {
    underWay ??= call().finally(() => {
      underWay = null
    })
    return underWay
  }
}
