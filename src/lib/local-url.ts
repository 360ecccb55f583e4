const ANY_ADDRESS: ReadonlySet<string> = new Set(['0.0.0.0', '::'])

/** The URL, without a slash at its end, at which this machine reaches a server that listens on `host`. */
export function localUrl(host: string, port: number | string): string {
  const name = ANY_ADDRESS.has(host) ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host
  return `http://${name}:${port}`
}
