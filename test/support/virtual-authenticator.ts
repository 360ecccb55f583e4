/** Chromium's virtual authenticators: devices that keep passkeys, and confirm each use at once. */
import type { CDPSession, Page } from 'playwright-core'

/** A passkey with its private key, as the device keeps it. */
interface KeptPasskey {
  readonly credentialId: string
  readonly isResidentCredential: boolean
  readonly rpId?: string
  readonly privateKey: string
  readonly userHandle?: string
  readonly signCount: number
}

export interface VirtualAuthenticator {
  passkeys(): Promise<readonly KeptPasskey[]>
  /** Puts a passkey into the device, in place of the one with the same id. */
  put(passkey: KeptPasskey): Promise<void>
  /** Takes the device away from the page. */
  remove(): Promise<void>
}

/** @param transport `internal`: the device that the page is read on; `usb`: a security key beside it */
export async function addAuthenticator(
  page: Page,
  transport: 'internal' | 'usb' = 'internal',
): Promise<VirtualAuthenticator> {
  const cdp = await session(page)
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport,
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  })
  return {
    passkeys: async () => (await cdp.send('WebAuthn.getCredentials', { authenticatorId })).credentials,
    put: async (credential) => {
      const { credentialId } = credential
      const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId })
      if (credentials.some((kept) => kept.credentialId === credentialId))
        await cdp.send('WebAuthn.removeCredential', { authenticatorId, credentialId })
      await cdp.send('WebAuthn.addCredential', { authenticatorId, credential })
    },
    remove: async () => void (await cdp.send('WebAuthn.removeVirtualAuthenticator', { authenticatorId })),
  }
}

const sessions = new WeakMap<Page, CDPSession>()

/** One for all devices of a page: a session sees the devices that it has added. */
async function session(page: Page): Promise<CDPSession> {
  const known = sessions.get(page)
  if (known !== undefined) return known
  const cdp = await page.context().newCDPSession(page)
  await cdp.send('WebAuthn.enable')
  sessions.set(page, cdp)
  return cdp
}
