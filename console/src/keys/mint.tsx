import { useState } from 'preact/hooks'
import { type ApiKey, mintKey } from 'sexton-client'
import { Copy } from '../parts/copy.tsx'
import { save } from '../parts/download.ts'
import { keyless } from '../state/session.ts'
import { texts } from '../texts.ts'
import { prove } from './owner.ts'
import { Refusal, State } from './refusal.tsx'
import { useAction } from './use-action.ts'
import type { Wallet } from './wallet.ts'

const t = texts.mint

export interface Minted {
  readonly key: ApiKey
  readonly secret: string
  /** What the wallet signed. */
  readonly message: string
}

export interface MintProps {
  readonly wallet: Wallet
  /** Why a signature would be refused. */
  readonly obstacle: 'closed' | 'contract' | undefined
  onMinted(minted: Minted): void
}

export function Mint({ wallet, obstacle, onMinted }: MintProps) {
  const [label, setLabel] = useState('')
  const action = useAction()
  const mint = () =>
    action.run(async () => {
      const proof = await prove(wallet, 'mint')
      const { data } = await mintKey(keyless, { ...proof, ...(label !== '' && { label }) })
      setLabel('')
      onMinted({ ...data, message: proof.message })
    })
  return (
    <div class="stack">
      <h2 class="sub">{t.title}</h2>
      <form
        class="inline"
        onSubmit={(event) => {
          event.preventDefault()
          mint()
        }}
      >
        <label class="field">
          <span>{t.label}</span>
          <input
            class="in"
            maxLength={64}
            placeholder={t.placeholder}
            value={label}
            onInput={(event) => setLabel(event.currentTarget.value)}
          />
        </label>
        <button
          type="submit"
          class="btn primary"
          disabled={action.isRunning || obstacle !== undefined}
        >
          {t.sign}
        </button>
      </form>
      {obstacle === 'closed' && <p class="note">{t.closed}</p>}
      {obstacle === 'contract' && <State title={t.contract} more={t.contractMore} />}
      <Refusal error={action.error} again={mint} />
    </div>
  )
}

/** The secret, once; only hiding it takes it off the screen. */
export function Slip({ minted, onHide }: { readonly minted: Minted; onHide(): void }) {
  const { secret, key, message } = minted
  const download = () => save(new Blob([`SEXTON_KEY=${secret}\n`]), `sexton-${key.publicId}.env`)
  return (
    <div>
      <div class="slip" role="status">
        <p>
          <b>{t.once}</b> {t.onceMore}
        </p>
        <code class="secret">{secret}</code>
        <p class="acts">
          <Copy text={secret} label={t.copy} of="" class="btn primary" />
          <button type="button" class="btn" onClick={download}>
            {t.download}
          </button>
          <button type="button" class="btn" onClick={onHide}>
            {t.hide}
          </button>
        </p>
      </div>
      <details class="data">
        <summary>{t.signed}</summary>
        <pre>{message}</pre>
      </details>
    </div>
  )
}
