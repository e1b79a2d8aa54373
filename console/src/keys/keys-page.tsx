import { useState } from 'preact/hooks'
import type { ListedApiKey, Service } from 'sexton-client'
import { takeSecret } from '../state/session.ts'
import { texts } from '../texts.ts'
import { Connect } from './connect.tsx'
import { Gate } from './gate.tsx'
import { KeyList } from './key-list.tsx'
import { Mint, type Minted } from './mint.tsx'
import { State } from './refusal.tsx'
import { Topup } from './topup.tsx'
import { Usage } from './usage.tsx'
import type { Wallet } from './wallet.ts'

/** Connect, mint, manage, top up. What was signed for is kept in memory only. */
export function KeysPage({ service }: { readonly service: Service }) {
  const t = texts.keys
  const [wallet, setWallet] = useState<Wallet>()
  const { keys, minted, turn, setKeys, setMinted, change, show, credit, use } = useKeys()
  const canMint = !service.notConfigured.includes('gate')
  return (
    <section class="row" aria-labelledby="keys">
      <div class="margin">
        <h1 id="keys">{t.title}</h1>
        <p class="note">{t.note}</p>
        <p class="note">{t.shared}</p>
      </div>
      <div class="body">
        {!canMint && <State title={t.notMinted} more={t.notMintedMore} />}
        <div class="panels">
          <div class="p5 stack">
            <Connect
              wallet={wallet}
              onWallet={(next) => {
                setWallet(next)
                setKeys(undefined)
                setMinted(undefined)
              }}
              onSecret={use}
            />
            {wallet !== undefined && canMint && <Gate address={wallet.address} />}
          </div>
          <div class="p7 stack">
            {wallet !== undefined && canMint && (
              <Mint
                key={wallet.address}
                wallet={wallet}
                minted={minted}
                onMinted={show}
                onHide={() => setMinted(undefined)}
              />
            )}
            {wallet !== undefined && (
              <KeyList
                wallet={wallet}
                keys={keys}
                most={service.limits.activeKeysPerWallet}
                onKeys={setKeys}
                onKey={change}
                onMinted={show}
              />
            )}
          </div>
          <div class="p5">
            <Usage turn={turn} />
          </div>
          {wallet !== undefined && service.pricing !== null && (
            <div class="p7">
              <Topup
                key={wallet.address}
                wallet={wallet}
                service={service}
                pricing={service.pricing}
                keys={(keys ?? []).filter(({ status }) => status === 'active')}
                onCredited={credit}
              />
            </div>
          )}
        </div>
      </div>
    </section>
  )
}

/** What the page knows of the wallet's keys; `turn` changes when usage may have changed. */
function useKeys() {
  const [keys, setKeys] = useState<readonly ListedApiKey[]>()
  const [minted, setMinted] = useState<Minted>()
  const [turn, setTurn] = useState(0)
  const change = (key: ListedApiKey) => setKeys((known = []) => replaceKey(known, key))
  const show = (next: Minted) => {
    takeSecret(next.secret)
    setMinted(next)
    change({ prepaidBalanceUsd: 0, ...next.key })
    setTurn((value) => value + 1)
  }
  const credit = (publicId: string, creditedUsd: number) => {
    setKeys((known) =>
      known?.map((key) =>
        key.publicId === publicId
          ? { ...key, prepaidBalanceUsd: key.prepaidBalanceUsd + creditedUsd }
          : key,
      ),
    )
    setTurn((value) => value + 1)
  }
  const use = (secret: string) => {
    takeSecret(secret)
    setTurn((value) => value + 1)
  }
  return { keys, minted, turn, setKeys, setMinted, change, show, credit, use }
}

/** Newest first. */
function replaceKey(keys: readonly ListedApiKey[], key: ListedApiKey): readonly ListedApiKey[] {
  const isKnown = keys.some(({ publicId }) => publicId === key.publicId)
  return isKnown
    ? keys.map((each) => (each.publicId === key.publicId ? key : each))
    : [key, ...keys]
}
