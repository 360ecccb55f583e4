import { useEffect, useState } from 'preact/hooks'
import { ConfirmDialog } from '../design/confirm-dialog.tsx'
import type { Route } from './route.ts'
import { guardLeaving, navigate, useRoute } from './router.ts'

/**
 * Asks before something unsaved is left: by a link, by Back, or by closing the window. Another tab or filter of the same path is not
 * leaving it.
 */
export function LeaveGuard({ isUnsaved, what }: { isUnsaved: boolean; what: string }) {
  const { path } = useRoute()
  const [wanted, setWanted] = useState<Route | null>(null)
  const here = path.join('/')
  useEffect(() => {
    if (!isUnsaved) return
    const beforeUnload = (event: BeforeUnloadEvent) => event.preventDefault()
    addEventListener('beforeunload', beforeUnload)
    const unguard = guardLeaving((next) => {
      if (next.path.join('/') === here) return true
      setWanted(next)
      return false
    })
    return () => {
      removeEventListener('beforeunload', beforeUnload)
      unguard()
    }
  }, [isUnsaved, here])
  if (wanted === null) return null
  return (
    <ConfirmDialog
      title="Leave without saving?"
      action="Discard and leave"
      onConfirm={() => {
        setWanted(null)
        // Nothing is guarded any more.
        guardLeaving(() => true)()
        navigate(wanted.path, wanted.query)
      }}
      onClose={() => setWanted(null)}
    >
      <p>{what}</p>
    </ConfirmDialog>
  )
}
