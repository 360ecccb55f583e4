import './dialog.css'
import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Note } from './feedback.tsx'

/** A secret that is shown once: only "I have stored it" closes it. If the secret was lost, it says so instead. */
export function SecretDialog({
  title,
  secret,
  lost,
  label,
  isHashed = true,
  children,
  onClose,
}: {
  title: string
  /** Null: the answer with the secret was lost on the way, and a repeated request does not get it. */
  secret: string | null
  /** What is said then. `advice`: how to get another secret, as a sentence. */
  lost: { readonly title: string; readonly advice: string }
  /** What it is: "API key". */
  label: string
  /** Whether not even the service knows it any more. */
  isHashed?: boolean
  /** How to use it: a `CodeBlock` with a ready command. */
  children?: ComponentChildren
  onClose: () => void
}) {
  if (secret === null)
    return (
      <Dialog
        title={lost.title}
        width="s"
        onClose={onClose}
        footer={
          <Button tone="primary" onClick={onClose}>
            Close
          </Button>
        }
      >
        <Note tone="warn">
          The connection broke before the secret arrived, and it cannot be shown again. {lost.advice}
        </Note>
      </Dialog>
    )
  return (
    <Dialog
      title={title}
      footer={
        <Button tone="primary" onClick={onClose}>
          I have stored it
        </Button>
      }
    >
      <p>
        Copy it now. <strong>It will not be shown again.</strong> {isHashed && 'Only its hash is stored.'}
      </p>
      <CodeBlock label={label} text={secret} isSecret />
      {children}
    </Dialog>
  )
}

/** Text to be copied whole. */
export function CodeBlock({ label, text, isSecret = false }: { label: string; text: string; isSecret?: boolean }) {
  return (
    <div class={isSecret ? 'code-block code-block-secret' : 'code-block'}>
      <div class="code-block-head">
        <span>{label}</span>
        <CopyButton text={text} label={`Copy ${label}`} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: may scroll */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  )
}

const SAID_MS = 2_000

/** Copies a text and says so. */
export function CopyButton({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [state, setState] = useState<'idle' | 'copied' | 'failed'>('idle')
  useEffect(() => {
    if (state === 'idle') return
    const timer = setTimeout(() => setState('idle'), SAID_MS)
    return () => clearTimeout(timer)
  }, [state])
  return (
    <Button
      tone="quiet"
      size="s"
      icon={state === 'copied' ? 'check' : 'copy'}
      aria-label={state === 'idle' ? label : undefined}
      onClick={async ({ currentTarget }) => setState((await copied(text, currentTarget)) ? 'copied' : 'failed')}
    >
      <span aria-live="polite">{state === 'idle' ? 'Copy' : state === 'copied' ? 'Copied' : 'Select and copy it'}</span>
    </Button>
  )
}

/** `navigator.clipboard` is missing where the page is read over plain HTTP. @param near in the dialog that is open, if one is */
async function copied(text: string, near: Element): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const field = document.createElement('textarea')
    field.value = text
    field.className = 'visually-hidden'
    near.after(field)
    field.select()
    const isCopied = document.execCommand('copy')
    field.remove()
    return isCopied
  }
}
