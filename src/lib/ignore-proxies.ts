/** A proxy from the environment would bypass the webhooks' address check (docs/decisions.md#webhooks). */
export function ignoreProxies(): void {
  for (const name of ['HTTP_PROXY', 'HTTPS_PROXY', 'ALL_PROXY']) {
    delete process.env[name]
    delete process.env[name.toLowerCase()]
  }
}
