import type { Problem } from '../api/problem.ts'
import { ErrorNote } from '../design/feedback.tsx'
import { openSession } from '../session/sign-in.ts'
import { Front } from './sign-in-screen.tsx'

/** The page was opened while the service does not answer. It goes on by itself once it does. */
export function Unreachable({ problem }: { problem: Problem }) {
  return (
    <Front title="The service is not responding">
      <ErrorNote problem={problem} onRetry={openSession} />
    </Front>
  )
}
