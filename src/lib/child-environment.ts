/** Where programs and temporary files are, and which authorities the machine trusts. */
const PASSED_ON = ['PATH', 'TMPDIR', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'NODE_EXTRA_CA_CERTS'] as const

/** The environment variables that our child processes get: no secret and no proxy. */
export function childEnvironment(): Record<string, string> {
  return Object.fromEntries(
    PASSED_ON.flatMap((name) => {
      const value = process.env[name]
      return value === undefined ? [] : [[name, value]]
    }),
  )
}
