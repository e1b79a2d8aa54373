import { useState } from 'preact/hooks'
import { labelKey, moveBalance, revokeKey, rotateKey } from 'sexton-client'
import { usd } from '../parts/format.ts'
import { keyless } from '../state/session.ts'
import { texts } from '../texts.ts'
import type { Minted } from './mint.tsx'
import { prove } from './owner.ts'
import { Refusal } from './refusal.tsx'
import { useAction } from './use-action.ts'
import type { OwnKey } from './use-keys.ts'
import type { Wallet } from './wallet.ts'

const t = texts.list

export interface KeyActionsProps {
  readonly wallet: Wallet
  readonly keys: readonly OwnKey[]
  readonly shown: OwnKey
  onKey(key: OwnKey): void
  onMinted(minted: Minted): void
}

/** Rename, new secret, move balance, revoke; each is a signature of its own. */
export function KeyActions(props: KeyActionsProps) {
  const { shown } = props
  const { action, last, run, said, targets, rename, rotate, move, revoke } = useKeyActions(props)
  const isActive = shown.status === 'active'
  return (
    <div class="stack">
      {isActive && (
        <Rename
          label={shown.label ?? ''}
          isBusy={action.isRunning}
          rename={(to) => run(() => rename(to))}
        />
      )}
      {shown.prepaidBalanceUsd !== 0 && (
        <Move targets={targets} isBusy={action.isRunning} move={(to) => run(() => move(to))} />
      )}
      {isActive && (
        <div class="acts">
          <button
            type="button"
            class="btn small"
            disabled={action.isRunning}
            onClick={() => run(rotate)}
          >
            {t.rotate}
          </button>
          <button
            type="button"
            class="btn small danger"
            disabled={action.isRunning}
            onClick={() => run(revoke)}
          >
            {t.revoke}
          </button>
          <span class="note">{t.revokeNote}</span>
        </div>
      )}
      {said !== '' && <p role="status">{said}</p>}
      <Refusal error={action.error} again={() => last !== undefined && run(last)} />
    </div>
  )
}

/** Each work signs with the wallet, asks the service and shows what became of the key. */
function useKeyActions({ wallet, keys, shown, onKey, onMinted }: KeyActionsProps) {
  const { publicId } = shown
  const targets = keys.filter((key) => key.status === 'active' && key.publicId !== publicId)
  const [said, setSaid] = useState('')
  const action = useAction()
  const [last, setLast] = useState<() => Promise<void>>()
  const run = (work: () => Promise<void>) => {
    setLast(() => work)
    return action.run(work)
  }
  const rename = async (label: string) => {
    const proof = await prove(wallet, 'label', { publicId })
    const { data } = await labelKey(keyless, { ...proof, publicId, label })
    onKey({ ...shown, ...data.key })
  }
  const rotate = async () => {
    const proof = await prove(wallet, 'rotate', { publicId })
    const { data } = await rotateKey(keyless, { ...proof, publicId })
    onKey({ ...shown, status: 'revoked', prepaidBalanceUsd: 0 })
    onMinted({ ...data, message: proof.message })
    onKey({ ...data.key, prepaidBalanceUsd: shown.prepaidBalanceUsd })
  }
  const move = async (target: string) => {
    const proof = await prove(wallet, 'move-balance', { publicId, toPublicId: target })
    const { data } = await moveBalance(keyless, { ...proof, publicId, toPublicId: target })
    const to = keys.find((key) => key.publicId === target)
    onKey({ ...shown, prepaidBalanceUsd: 0 })
    // Its balance may have changed since it was read.
    if (to !== undefined)
      onKey({ ...to, prepaidBalanceUsd: to.prepaidBalanceUsd === 0 ? data.movedUsd : undefined })
    setSaid(t.moved(usd(data.movedUsd), target))
  }
  const revoke = async () => {
    const proof = await prove(wallet, 'revoke', { publicId })
    const { data } = await revokeKey(keyless, { ...proof, publicId })
    onKey({ ...shown, ...data.key })
  }
  return { action, last, run, said, targets, rename, rotate, move, revoke }
}

function Rename(props: {
  readonly label: string
  readonly isBusy: boolean
  rename(label: string): void
}) {
  const { isBusy, rename } = props
  const [label, setLabel] = useState(props.label)
  return (
    <form
      class="inline"
      onSubmit={(event) => {
        event.preventDefault()
        rename(label)
      }}
    >
      <label class="field">
        <span>{t.newLabel}</span>
        <input
          class="in"
          maxLength={64}
          value={label}
          onInput={(event) => setLabel(event.currentTarget.value)}
        />
      </label>
      <button type="submit" class="btn" disabled={isBusy}>
        {t.rename}
      </button>
    </form>
  )
}

function Move(props: {
  readonly targets: readonly OwnKey[]
  readonly isBusy: boolean
  move(target: string): void
}) {
  const { targets, isBusy, move } = props
  const [chosen, setChosen] = useState('')
  const target = (targets.find((key) => key.publicId === chosen) ?? targets[0])?.publicId ?? ''
  return (
    <div class="inline">
      <label class="field">
        <span>{t.moveTo}</span>
        <select
          class="in"
          value={target}
          disabled={targets.length === 0}
          onChange={(event) => setChosen(event.currentTarget.value)}
        >
          {targets.map((key) => (
            <option key={key.publicId} value={key.publicId}>
              {key.publicId} {key.label}
            </option>
          ))}
          {targets.length === 0 && <option>{t.noTarget}</option>}
        </select>
      </label>
      <button
        type="button"
        class="btn"
        disabled={isBusy || targets.length === 0}
        onClick={() => move(target)}
      >
        {t.move}
      </button>
    </div>
  )
}
