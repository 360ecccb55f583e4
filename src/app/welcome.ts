import { resolve } from 'node:path'
import type { Demo } from '../demo/ensure-demo.ts'
import { DAY_MS } from '../lib/clock.ts'

/** What a newcomer reads after the start: the page first, then where things are, and three lines that work as pasted. */
export function welcome(input: {
  port: number
  /** Where the portal token is accepted, if not on `port`. */
  adminUrl: string | null
  demo: Demo | null
  /** Signs its opener in as the demo's owner, once; null without the demo. */
  signInLink: string | null
  portalTokenFile: string | null
  now: Date
}): string {
  const base = `http://127.0.0.1:${input.port}`
  const lines = [
    '',
    ...signIn(base, input),
    `nightledger is running at ${base}/partner/v1 (API reference: ${base}/docs)`,
  ]
  if (input.portalTokenFile !== null) lines.push(`  portal token in   ${input.portalTokenFile}`)
  if (input.adminUrl !== null)
    lines.push(`  operator's API at ${input.adminUrl}/portal/v1 (also there: /metrics, /readyz, /healthz)`)
  if (input.demo === null) return [...lines, ''].join('\n')
  const keyFile = resolve(input.demo.keyFile)
  const sandboxFile = input.demo.sandboxKeyFile === null ? null : resolve(input.demo.sandboxKeyFile)
  const authorization = `-H "Authorization: Bearer $(cat ${quoted(sandboxFile ?? keyFile)})"`
  const json = '-H "Content-Type: application/json"'
  const day = (offset: number) => new Date(input.now.getTime() + offset * DAY_MS).toISOString().slice(0, 10)
  const stay = JSON.stringify({ unit: 'baixa-studio', arrival: day(200), departure: day(204) })
  return [
    ...lines,
    ...(sandboxFile === null ? [] : [`  sandbox key in    ${sandboxFile}`]),
    `  demo API key in   ${keyFile}`,
    ...input.demo.tokenFiles.map(({ role, path }) => `  ${`${role} token in`.padEnd(16)}  ${resolve(path)}`),
    '',
    sandboxFile === null ? 'Try it:' : 'Try it in the sandbox, where nothing is real:',
    `  curl -s ${authorization} ${base}/partner/v1/units`,
    `  curl -s ${authorization} ${json} -d '${stay}' ${base}/partner/v1/quote`,
    `  curl -s ${authorization} ${json} -d '${stay}' ${base}/partner/v1/bookings`,
    '',
  ].join('\n')
}

/** The page, and how to sign in to it. Where there is no demo, and the operator's token is not accepted here, only its address. */
function signIn(
  base: string,
  {
    demo,
    signInLink,
    portalTokenFile,
    adminUrl,
  }: Pick<Parameters<typeof welcome>[0], 'demo' | 'signInLink' | 'portalTokenFile' | 'adminUrl'>,
): string[] {
  if (signInLink !== null)
    return [
      "Open this link to sign in as the demo's owner. It works once, within a day; each start prints another:",
      `  ${signInLink}`,
      '',
    ]
  const ownerFile = demo?.tokenFiles.find(({ role }) => role === 'owner')?.path ?? null
  const file = ownerFile ?? (adminUrl === null ? portalTokenFile : null)
  const page = `Open ${base}/portal/`
  if (file === null) return [page, '']
  return [`${page} and sign in with the token that this prints:`, `  cat ${quoted(resolve(file))}`, '']
}

function quoted(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", `'\\''`)}'`
}
