/**
 * Finds variables that look misspelt: with a misspelt DATABASE_URL, the service would silently start its built-in database. Variables of other
 * software must not prevent a start, so those that Kubernetes sets for each Service are ignored. A name that resembles a variable that
 * is set is other software's too: DATABASE_URI beside DATABASE_URL.
 */
import { editDistance } from '../lib/edit-distance.ts'

/** Prefixes that only this service uses. */
const PREFIXES = [
  ...['NIGHTLEDGER_', 'PORTAL_', 'OIDC_', 'SMTP_', 'RETAIN_', 'WEBHOOK_ALLOW_', 'CLUSTER_ETCD_', 'CLUSTER_SECRET_'],
] as const

/** Read by commands, compose.yaml, and the files in deploy/ that set up the database. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  ...['NIGHTLEDGER_URL', 'NIGHTLEDGER_KEY', 'NIGHTLEDGER_AGENCY'],
  ...['NIGHTLEDGER_SERVICE_PASSWORD', 'NIGHTLEDGER_OWNER_PASSWORD', 'NIGHTLEDGER_MEMORY'],
])

/** How many differences still count as a misspelling, by the length of the known name. Short ones, such as HOST, resemble other software's. */
function distanceMax(name: string): number {
  return name.length >= 10 ? 2 : name.length >= 8 ? 1 : 0
}

/**
 * A fault for each set variable that looks like a misspelt one of the service.
 * @param known the names of all variables of the service
 */
export function unknownVariables(
  env: Readonly<Record<string, string | undefined>>,
  known: readonly string[],
): readonly string[] {
  return Object.entries(env).flatMap(([name, value]) => {
    if (!value || known.includes(name) || ELSEWHERE.has(name) || isServiceLink(name, value)) return []
    const meant = closestTo(
      name.toUpperCase(),
      known.filter((one) => !env[one]),
    )
    if (meant !== null)
      return [
        `${name} is not a variable of nightledger: did you mean ${meant}? Correct the name, or remove the variable.`,
      ]
    const prefix = PREFIXES.find((start) => name.startsWith(start))
    if (prefix === undefined) return []
    const ours = known.filter((one) => one.startsWith(prefix))
    return [
      `${name} is not a variable of nightledger: remove it${ours.length === 0 ? '' : `, or use ${ours.join(', ')}`}.`,
    ]
  })
}

function closestTo(name: string, known: readonly string[]): string | null {
  const near = known
    .map((one) => ({ one, distance: editDistance(name, one, distanceMax(one)) }))
    // Names that differ only in case have distance 0. Short ones are still skipped: `port` may belong to other software.
    .filter(({ one, distance }) => distanceMax(one) > 0 && distance <= distanceMax(one))
    .sort((a, b) => a.distance - b.distance)
  return near[0]?.one ?? null
}

const SERVICE_LINK = /_SERVICE_(?:HOST|PORT)(?:_|$)|_PORT_\d+_(?:TCP|UDP|SCTP)(?:_|$)/

/** What Kubernetes sets for each service (`enableServiceLinks`): a service `nightledger` gives `NIGHTLEDGER_PORT=tcp://10.0.0.1:3000`. */
function isServiceLink(name: string, value: string): boolean {
  return SERVICE_LINK.test(name) || (name.endsWith('_PORT') && /^(?:tcp|udp|sctp):\/\//.test(value))
}
