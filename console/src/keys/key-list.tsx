import { useState } from 'preact/hooks'
import { type ListedApiKey, listKeys, type UsageDay } from 'sexton-client'

import { keyless } from '../state/session.ts'
import { texts } from '../texts.ts'
import { KeyActions } from './key-actions.tsx'
import type { Minted } from './mint.tsx'
import { prove, toHeaders } from './owner.ts'
import { Refusal } from './refusal.tsx'
import { useAction } from './use-action.ts'
import type { KnownKeys, OwnKey } from './use-keys.ts'
import { useOfKey } from './use-usage.ts'
import type { Wallet } from './wallet.ts'

const t = texts.list

export interface KeyListProps {
  readonly wallet: Wallet
  /** Undefined until the wallet signed for the list or minted. */
  readonly known: KnownKeys | undefined
  readonly most: number
  /** Calls by day and key; none without a key in memory. */
  readonly days: readonly UsageDay[]
  onKeys(owner: string, keys: readonly ListedApiKey[]): void
  onKey(key: OwnKey): void
  onMinted(minted: Minted): void
}

export function KeyList(props: KeyListProps) {
  const { wallet, known, most, onKeys } = props
  const keys = known?.keys
  const [open, setOpen] = useState<string>()
  const action = useAction()
  const list = () =>
    action.run(async () => {
      const proof = await prove(wallet, 'list')
      const { data } = await listKeys(keyless, {}, { headers: toHeaders(proof) })
      onKeys(wallet.address, data.keys)
    })
  const active = (keys ?? []).filter(({ status }) => status === 'active').length
  return (
    <div>
      <h2 class="sub">
        {t.title} {known?.isWhole && <span class="note">{t.of(active, most)}</span>}
      </h2>
      {keys !== undefined && keys.length === 0 && <p class="quiet">{t.none}</p>}
      {keys !== undefined && keys.length > 0 && (
        <div class="wide">
          <table class="keys">
            <thead>
              <tr>
                <th>{t.columns.key}</th>
                <th>{t.columns.label}</th>
                <th>{t.columns.status}</th>
                <th class="r">{t.columns.today}</th>
                <th>{t.columns.last}</th>
                <th class="r">{t.columns.balance}</th>
                <th>
                  <span class="vh">{t.columns.actions}</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {keys.map((key) => (
                <Row
                  key={key.publicId}
                  {...props}
                  keys={keys}
                  shown={key}
                  isOpen={open === key.publicId}
                  toggle={() => setOpen(open === key.publicId ? undefined : key.publicId)}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {keys !== undefined && keys.length > 0 && <p class="note">{t.note}</p>}
      <p class="acts">
        <button type="button" class="btn" disabled={action.isRunning} onClick={list}>
          {t.show}
        </button>
      </p>
      <Refusal error={action.error} again={list} />
    </div>
  )
}

function Row(
  props: KeyListProps & {
    readonly keys: readonly OwnKey[]
    readonly shown: OwnKey
    readonly isOpen: boolean
    toggle(): void
  },
) {
  const { shown, isOpen, toggle, days } = props
  const use = days.length === 0 ? undefined : useOfKey(days, shown.publicId)
  const isNew = shown.createdAt.slice(0, 10) >= (days[0]?.date ?? '')
  return (
    <>
      <tr class={shown.status === 'revoked' ? 'struck' : ''}>
        <td>
          <code class="s">{shown.publicId}</code>
        </td>
        <td>{shown.label}</td>
        <td>{t[shown.status]}</td>
        <td class="r">{use?.today ?? t.unknownUse}</td>
        <td>{use === undefined ? t.unknownUse : (use.last ?? (isNew ? t.never : t.longAgo))}</td>
        <td class="r amount">
          {shown.prepaidBalanceUsd === undefined
            ? t.unknown
            : `$${shown.prepaidBalanceUsd.toFixed(4)}`}
        </td>
        <td class="r">
          <button type="button" class="btn small" aria-expanded={isOpen} onClick={toggle}>
            {isOpen ? t.close : t.manage}
          </button>
        </td>
      </tr>
      {isOpen && (
        <tr class="open">
          <td colSpan={7}>
            <KeyActions {...props} />
          </td>
        </tr>
      )}
    </>
  )
}
