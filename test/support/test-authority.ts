import { DAY_MS, HOUR_MS } from '../../src/lib/clock.ts'
import 'reflect-metadata'
import * as x509 from '@peculiar/x509'

const KEYS = { name: 'ECDSA', namedCurve: 'P-256', hash: 'SHA-256' } as const

/** Certificate and key of a TLS server, in PEM. */
export interface ServerCertificate {
  readonly cert: string
  readonly key: string
}

/** A certificate authority for one test. */
export class TestAuthority {
  readonly #certificate: x509.X509Certificate
  readonly #keys: CryptoKeyPair

  private constructor(certificate: x509.X509Certificate, keys: CryptoKeyPair) {
    this.#certificate = certificate
    this.#keys = keys
  }

  static async create(): Promise<TestAuthority> {
    const keys = await newKeys()
    const certificate = await x509.X509CertificateGenerator.createSelfSigned({
      name: 'CN=Test authority',
      keys,
      signingAlgorithm: KEYS,
      ...validity(),
      extensions: [
        new x509.BasicConstraintsExtension(true, 1, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      ],
    })
    return new TestAuthority(certificate, keys)
  }

  /** For a sender's `trustedCa`. */
  get pem(): string {
    return this.#certificate.toString('pem')
  }

  /**
   * @param names DNS names; @param addresses IP addresses; @param endedMs makes a certificate that expired this long
   * ago
   */
  async issue({
    names = [],
    addresses = [],
    endedMs = 0,
  }: {
    names?: readonly string[]
    addresses?: readonly string[]
    endedMs?: number
  }): Promise<ServerCertificate> {
    const keys = await newKeys()
    const certificate = await x509.X509CertificateGenerator.create({
      subject: `CN=${names[0] ?? addresses[0]}`,
      issuer: this.#certificate.subject,
      publicKey: keys.publicKey,
      signingKey: this.#keys.privateKey,
      signingAlgorithm: KEYS,
      ...validity(endedMs),
      extensions: [serverNames(names, addresses)],
    })
    return { cert: certificate.toString('pem'), key: await privatePem(keys) }
  }
}

/** A self-signed certificate. */
export async function selfSigned(name: string): Promise<ServerCertificate> {
  const keys = await newKeys()
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: KEYS,
    ...validity(),
    extensions: [serverNames([name], [])],
  })
  return { cert: certificate.toString('pem'), key: await privatePem(keys) }
}

function serverNames(names: readonly string[], addresses: readonly string[]): x509.SubjectAlternativeNameExtension {
  return new x509.SubjectAlternativeNameExtension([
    ...names.map((value) => ({ type: 'dns' as const, value })),
    ...addresses.map((value) => ({ type: 'ip' as const, value })),
  ])
}

function validity(endedMs = 0) {
  const notAfter = endedMs > 0 ? Date.now() - endedMs : Date.now() + DAY_MS
  return { notBefore: new Date(notAfter - 48 * HOUR_MS), notAfter: new Date(notAfter) }
}

async function newKeys(): Promise<CryptoKeyPair> {
  return (await crypto.subtle.generateKey(KEYS, true, ['sign', 'verify'])) as CryptoKeyPair
}

async function privatePem(keys: CryptoKeyPair): Promise<string> {
  const bytes = await crypto.subtle.exportKey('pkcs8', keys.privateKey)
  const lines =
    Buffer.from(bytes)
      .toString('base64')
      .match(/.{1,64}/g) ?? []
  return `-----BEGIN PRIVATE KEY-----\n${lines.join('\n')}\n-----END PRIVATE KEY-----\n`
}
