/** Modal dialogs, and the questions that are asked in them. */
import './dialog.css'
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { Problem } from '../api/problem.ts'
import type { Route } from '../route/route.ts'
import { guardLeaving, navigate, useRoute } from '../route/router.ts'
import { Button, IconButton } from './button.tsx'
import { ErrorNote } from './feedback.tsx'
import { Toasts } from './toast.tsx'

interface DialogProps {
  title: string
  children: ComponentChildren
  /** Buttons, the main one last. */
  footer?: ComponentChildren
  /** Escape, the backdrop or the cross; the first two ask before they discard entries. Left out: only a button of the dialog's own closes it. */
  onClose?: (() => void) | undefined
  /** Makes it a form: called when a submit button or Enter is pressed. */
  onSubmit?: (() => void) | undefined
  /** False: closing the form loses nothing that is worth a question. */
  isGuarded?: boolean
  width?: 's' | 'm' | 'l' | undefined
  /** Along the right side; over the whole screen on a phone. */
  isSide?: boolean
}

/**
 * A modal dialog, open for as long as it is drawn. The rest of the page is inert meanwhile, and what had the focus gets it back.
 * The first control inside gets the focus, unless another has `autofocus`; after a submission that is refused, the first field that is wrong.
 */
export function Dialog(props: DialogProps) {
  const { title, children, footer, onClose, onSubmit, isGuarded = true, width = 'm', isSide = false } = props
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  const [isEdited, setEdited] = useState(false)
  const [isAsking, setAsking] = useState(false)
  const wasSubmitted = useRef(false)
  // Of a long form what is wrong may be out of sight, and the keyboard is to continue there.
  useLayoutEffect(() => {
    const [wrong, said] = ['[aria-invalid="true"]', '[role="alert"]'].map((what) => ref.current?.querySelector(what))
    if (!wasSubmitted.current || !(wrong ?? said)) return
    wasSubmitted.current = false
    if (wrong instanceof HTMLElement) wrong.focus()
    else said?.scrollIntoView({ block: 'nearest' })
  })
  const guarded = isGuarded && isEdited && onSubmit !== undefined && onClose !== undefined
  useLayoutEffect(() => {
    const dialog = ref.current
    const before = document.activeElement
    dialog?.showModal()
    return () => {
      dialog?.close()
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  const leave = () => (guarded ? setAsking(true) : onClose?.())
  const content = (
    <>
      <header class="dialog-head">
        <h2 id={id}>{title}</h2>
        {onClose !== undefined && <IconButton icon="close" label="Close" onClick={onClose} />}
      </header>
      <div class="dialog-body" tabIndex={-1}>
        {children}
      </div>
      {footer !== undefined && <footer class="dialog-foot">{footer}</footer>}
    </>
  )
  return (
    <dialog
      ref={ref}
      class={isSide ? `dialog dialog-side` : `dialog dialog-${width}`}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        if (event.target === ref.current) leave()
      }}
      onKeyDown={(event) => {
        if (event.key !== 'Escape') return
        // By hand: Chromium closes at the second Escape even if the first was refused, and with a dialog the one that it is in.
        event.preventDefault()
        event.stopPropagation()
        leave()
      }}
      onPointerDown={(event) => {
        if (event.target === ref.current) leave()
      }}
      onInput={() => {
        setEdited(true)
        wasSubmitted.current = false
      }}
    >
      {onSubmit === undefined ? (
        <div class="dialog-frame">{content}</div>
      ) : (
        <form
          class="dialog-frame"
          noValidate
          onSubmit={(event) => {
            event.preventDefault()
            wasSubmitted.current = true
            onSubmit()
          }}
        >
          {content}
        </form>
      )}
      {guarded && (
        <LeaveGuard isUnsaved what="What you have entered in this form has not been saved." onLeave={onClose} />
      )}
      {isAsking && (
        <FormDialog
          title="Discard what you have entered?"
          action="Discard"
          cancel="Keep editing"
          tone="danger"
          width="s"
          onSubmit={() => {
            setAsking(false)
            onClose?.()
          }}
          onClose={() => setAsking(false)}
        >
          <p>Nothing of it has been saved.</p>
        </FormDialog>
      )}
      <Toasts />
    </dialog>
  )
}

/** Details beside what they belong to. */
export function SidePanel(props: Omit<DialogProps, 'isSide' | 'width'>) {
  return <Dialog {...props} isSide />
}

interface FormDialogProps extends Omit<DialogProps, 'footer' | 'isSide' | 'onClose' | 'onSubmit'> {
  /** What the submit button says. */
  action: ComponentChildren
  /** What the button that leaves everything as it is says. */
  cancel?: string
  tone?: 'danger' | 'primary'
  isBusy?: boolean
  isDisabled?: boolean
  onSubmit: () => void
  onClose: () => void
}

/** A dialog that is a form: a button that submits, and one that closes. */
export function FormDialog({
  action,
  cancel = 'Cancel',
  tone = 'primary',
  isBusy = false,
  isDisabled = false,
  ...dialog
}: FormDialogProps) {
  return (
    <Dialog
      {...dialog}
      footer={
        <>
          <Button onClick={dialog.onClose}>{cancel}</Button>
          <Button type="submit" tone={tone} isBusy={isBusy} disabled={isDisabled}>
            {action}
          </Button>
        </>
      }
    />
  )
}

/** Asks before something that cannot be undone. `action` says what happens: "Revoke key", never "OK"; `children` what follows from it. */
export function ConfirmDialog({
  children,
  problem = null,
  onConfirm,
  ...dialog
}: Omit<FormDialogProps, 'cancel' | 'isDisabled' | 'onSubmit' | 'width'> & {
  problem?: Problem | null
  onConfirm: () => void
}) {
  return (
    <FormDialog tone="danger" {...dialog} width="s" onSubmit={onConfirm}>
      {children}
      <ErrorNote problem={problem} />
    </FormDialog>
  )
}

/**
 * Asks before something unsaved is left: by a link, by Back, or by closing the window. Another tab or filter of the same path is not
 * leaving it.
 * @param props.onLeave of a dialog, which every other address leaves: closes it
 */
export function LeaveGuard(props: { isUnsaved: boolean; what: string; onLeave?: () => void }) {
  const { isUnsaved, what, onLeave } = props
  const { path } = useRoute()
  const [wanted, setWanted] = useState<Route | null>(null)
  const end = useRef(() => {})
  const isDialog = onLeave !== undefined
  const here = path.join('/')
  // Ends when it is no longer drawn, not after the next paint: what has been saved may lead to another screen at once.
  useLayoutEffect(() => {
    if (!isUnsaved) return
    const beforeUnload = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', beforeUnload)
    const unguard = guardLeaving((next) => {
      if (!isDialog && next.path.join('/') === here) return true
      setWanted(next)
      return false
    })
    end.current = () => {
      removeEventListener('beforeunload', beforeUnload)
      unguard()
    }
    return end.current
  }, [isUnsaved, here, isDialog])
  if (wanted === null) return null
  return (
    <ConfirmDialog
      title="Leave without saving?"
      action="Discard and leave"
      onConfirm={() => {
        setWanted(null)
        // Not what else is unsaved: that asks in its turn.
        end.current()
        onLeave?.()
        navigate(wanted.path, wanted.query)
      }}
      onClose={() => setWanted(null)}
    >
      <p>{what}</p>
    </ConfirmDialog>
  )
}
