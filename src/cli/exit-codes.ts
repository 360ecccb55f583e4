/** Exit codes, for scripts (docs/agency-guide.md). */
export const EXIT = {
  done: 0,
  /** A fault of the service or of this program, or a file that cannot be read. */
  failure: 1,
  /** The command line itself is wrong. */
  usage: 2,
  /** The service refused the request (4xx). */
  refused: 3,
  /** No service answered, or `verify` has no result. */
  unreachable: 4,
} as const

type ExitCode = (typeof EXIT)[keyof typeof EXIT]

/** Ends a command with a message for people. */
export class CliError extends Error {
  override readonly name: string = 'CliError'
  constructor(
    message: string,
    readonly exitCode: ExitCode = EXIT.failure,
  ) {
    super(message)
  }
}

export class UsageError extends CliError {
  override readonly name = 'UsageError'
  constructor(message: string) {
    super(message, EXIT.usage)
  }
}

/** The service's refusal, with its body (docs/contract.md#error-body). */
export class RefusedError extends CliError {
  override readonly name = 'RefusedError'
  constructor(
    readonly status: number,
    readonly body: Readonly<Record<string, unknown>>,
    exitCode: ExitCode = status >= 500 ? EXIT.failure : EXIT.refused,
  ) {
    super(messageOf(status, body), exitCode)
  }

  get code(): string {
    return String(this.body['code'] ?? this.status)
  }
}

function messageOf(status: number, body: Readonly<Record<string, unknown>>): string {
  const { code, title, requestId, errors, possible, role } = body
  const lines = [`${status >= 500 ? 'The service failed' : 'Refused'}: ${title ?? 'no reason given'}`]
  if (Array.isArray(errors) && errors.length > 1) {
    for (const { message } of errors as { message: string }[]) lines.push(`  - ${message}`)
  }
  if (Array.isArray(possible)) {
    const moves = possible.length === 0 ? 'none' : possible.join(', ')
    lines.push(`  allowed: ${moves}`)
  }
  // A valid token is never throttled.
  if (status === 401 || status === 429)
    lines.push(
      "  set PORTAL_TOKEN or --token to the operator's token or an access token of the agency",
      "  (if the service has an ADMIN_PORT, the operator's token is accepted only there, and access tokens only on PORT)",
    )
  if (code === 'ROLE_MISSING')
    lines.push(
      role === 'operator'
        ? "  needed: the operator's token (PORTAL_TOKEN of the service)"
        : `  needed: an access token with the role ${role}${role === 'owner' ? '' : ' or a higher one'}`,
    )
  lines.push(`  (${status} ${code ?? ''}${requestId === undefined ? '' : `, request ${requestId}`})`)
  return lines.join('\n')
}
