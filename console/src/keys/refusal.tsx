import type { ComponentChildren } from 'preact'
import { SextonError } from 'sexton-client'
import { ProblemNote } from '../parts/problem-note.tsx'
import { texts } from '../texts.ts'
import { WalletError } from './wallet.ts'

/** One title, one sentence on what did and did not happen, one next step. */
export function State(props: {
  readonly title: string
  readonly more: string
  readonly children?: ComponentChildren
}) {
  return (
    <div class="state" role="alert">
      <h3>{props.title}</h3>
      <p>{props.more}</p>
      {props.children !== undefined && <div class="acts">{props.children}</div>}
    </div>
  )
}

export interface RefusalProps {
  readonly error: unknown
  again(): void
}

/** What a wallet or the service refused. */
export function Refusal({ error, again }: RefusalProps) {
  if (error === undefined) return null
  // A payment that was made must not be offered a second time.
  if (error instanceof SextonError && error.code === 'payment_already_used')
    return <ProblemNote error={error} />
  if (!(error instanceof WalletError)) return <ProblemNote error={error} again={again} />
  const t = texts.walletErrors
  const more = {
    rejected: t.rejectedMore,
    locked: t.lockedMore,
    late: t.lateMore,
    other: error.message,
  }[error.fault]
  return (
    <State title={t[error.fault]} more={more}>
      <button type="button" class="btn small" onClick={again}>
        {t.again}
      </button>
    </State>
  )
}
