import { useState } from 'preact/hooks'
import { type ListedApiKey, labelKey, moveBalance, revokeKey, rotateKey } from 'sexton-client'
import { usd } from '../parts/format.ts'
import { sexton } from '../state/session.ts'
import { texts } from '../texts.ts'
import type { Minted } from './mint.tsx'
import { prove } from './owner.ts'
import { Refusal } from './refusal.tsx'
import { useAction } from './use-action.ts'
import type { Wallet } from './wallet.ts'

const t = texts.list

export interface KeyActionsProps {
  readonly wallet: Wallet
  readonly keys: readonly ListedApiKey[]
  readonly shown: ListedApiKey
  onKey(key: ListedApiKey): void
  onMinted(minted: Minted): void
}

/** Rename, new secret, move balance, revoke; each is a signature of its own. */
export function KeyActions({ wallet, keys, shown, onKey, onMinted }: KeyActionsProps) {
  const { publicId } = shown
  const [label, setLabel] = useState(shown.label ?? '')
  const targets = keys.filter((key) => key.status === 'active' && key.publicId !== publicId)
  const [target, setTarget] = useState(targets[0]?.publicId ?? '')
  const [said, setSaid] = useState('')
  const action = useAction()
  const [last, setLast] = useState<() => Promise<void>>()
  const run = (work: () => Promise<void>) => {
    setLast(() => work)
    return action.run(work)
  }
  const rename = async () => {
    const proof = await prove(wallet, 'label', { publicId })
    const { data } = await labelKey(sexton(), { ...proof, publicId, label })
    onKey({ ...shown, ...data.key })
  }
  const rotate = async () => {
    const proof = await prove(wallet, 'rotate', { publicId })
    const { data } = await rotateKey(sexton(), { ...proof, publicId })
    onKey({ ...shown, status: 'revoked', prepaidBalanceUsd: 0 })
    onMinted({ ...data, message: proof.message })
    onKey({ ...data.key, prepaidBalanceUsd: shown.prepaidBalanceUsd })
  }
  const move = async () => {
    const proof = await prove(wallet, 'move-balance', { publicId, toPublicId: target })
    const { data } = await moveBalance(sexton(), { ...proof, publicId, toPublicId: target })
    const to = keys.find((key) => key.publicId === target)
    onKey({ ...shown, prepaidBalanceUsd: 0 })
    if (to !== undefined) onKey({ ...to, prepaidBalanceUsd: to.prepaidBalanceUsd + data.movedUsd })
    setSaid(t.moved(usd(data.movedUsd), target))
  }
  const revoke = async () => {
    const proof = await prove(wallet, 'revoke', { publicId })
    const { data } = await revokeKey(sexton(), { ...proof, publicId })
    onKey({ ...shown, ...data.key })
  }
  const isActive = shown.status === 'active'
  return (
    <div class="stack">
      {isActive && (
        <form
          class="inline"
          onSubmit={(event) => {
            event.preventDefault()
            run(rename)
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
          <button type="submit" class="btn" disabled={action.isRunning}>
            {t.rename}
          </button>
        </form>
      )}
      {shown.prepaidBalanceUsd > 0 && (
        <div class="inline">
          <label class="field">
            <span>{t.moveTo}</span>
            <select
              class="in"
              value={target}
              disabled={targets.length === 0}
              onChange={(event) => setTarget(event.currentTarget.value)}
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
            disabled={action.isRunning || targets.length === 0}
            onClick={() => run(move)}
          >
            {t.move}
          </button>
        </div>
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
