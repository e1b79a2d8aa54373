import { useEffect, useState } from 'preact/hooks'
import { texts } from '../texts.ts'
import { Refusal, State } from './refusal.tsx'
import { useAction } from './use-action.ts'
import { UseKey } from './use-key.tsx'
import { type Announced, connect, discoverWallets, type Wallet } from './wallet.ts'

export interface ConnectProps {
  readonly wallet: Wallet | undefined
  onWallet(wallet: Wallet | undefined): void
  onSecret(secret: string): void
}

/** Announced wallets to choose from, and a field for a key that exists already. */
export function Connect({ wallet, onWallet, onSecret }: ConnectProps) {
  const t = texts.keys
  const [found, setFound] = useState<readonly Announced[]>([])
  const action = useAction()
  const [last, setLast] = useState<Announced>()
  useEffect(() => discoverWallets((each) => setFound((known) => [...known, each])), [])
  useEffect(() => {
    if (wallet === undefined) return
    const { provider } = wallet
    const listener = (accounts: unknown) => {
      const [address] = accounts as readonly string[]
      if (address === undefined) onWallet(undefined)
      else if (address.toLowerCase() !== wallet.address.toLowerCase())
        onWallet({ ...wallet, address })
    }
    provider.on?.('accountsChanged', listener)
    return () => provider.removeListener?.('accountsChanged', listener)
  }, [wallet])
  const choose = (announced: Announced) => {
    setLast(announced)
    return action.run(async () => {
      onWallet(await connect(announced))
    })
  }
  return (
    <div class="stack">
      <h2 class="sub">{t.connect}</h2>
      {wallet === undefined ? (
        <>
          <p class="note">{t.connectNote}</p>
          <div class="acts">
            {found.map((announced) => (
              <button
                key={announced.uuid}
                type="button"
                class="btn primary"
                disabled={action.isRunning}
                onClick={() => choose(announced)}
              >
                {announced.name}
              </button>
            ))}
          </div>
          {found.length === 0 && <State title={t.noWallet} more={t.noWalletMore} />}
        </>
      ) : (
        <p class="code address">{t.connected(wallet.address)}</p>
      )}
      <Refusal error={action.error} again={() => last !== undefined && choose(last)} />
      <UseKey onSecret={onSecret} />
    </div>
  )
}
