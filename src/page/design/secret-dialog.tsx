import './secret-dialog.css'
import type { ComponentChildren } from 'preact'
import { Button } from './button.tsx'
import { CopyButton } from './copy-button.tsx'
import { Dialog } from './dialog.tsx'

/** A secret that is shown once. Nothing but "I have stored it" closes it. */
export function SecretDialog({
  title,
  secret,
  label,
  isHashed = true,
  children,
  onStored,
}: {
  title: string
  secret: string
  /** What it is: "API key". */
  label: string
  /** Whether not even the service knows it any more. */
  isHashed?: boolean
  /** How to use it: a `CodeBlock` with a ready command. */
  children?: ComponentChildren
  onStored: () => void
}) {
  return (
    <Dialog
      title={title}
      footer={
        <Button tone="primary" onClick={onStored}>
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
