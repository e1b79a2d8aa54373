import { useState } from 'preact/hooks'

export interface Action {
  readonly isRunning: boolean
  readonly error: unknown
  /** Runs one thing at a time; what it throws becomes `error`. */
  run(work: () => Promise<void>): Promise<void>
  clear(): void
}

export function useAction(): Action {
  const [isRunning, setRunning] = useState(false)
  const [error, setError] = useState<unknown>()
  return {
    isRunning,
    error,
    async run(work) {
      if (isRunning) return
      setRunning(true)
      setError(undefined)
      try {
        await work()
      } catch (cause) {
        setError(cause)
      } finally {
        setRunning(false)
      }
    },
    clear: () => setError(undefined),
  }
}
