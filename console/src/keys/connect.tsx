import { useEffect, useState } from 'preact/hooks'
import { texts } from '../texts.ts'
import { Refusal, State } from './refusal.tsx'
import { useAction } from './use-action.ts'
import { UseKey } from './use-key.tsx'
import { type Announced, connect, discoverWallets, firstAccount, type Wallet } from './wallet.ts'

const t = texts.keys

export interface ConnectProps {
  readonly wallet: Wallet | undefined
  onWallet(wallet: Wallet | undefined): void
  onSecret(secret: string): void
}

/** Announced wallets to choose from, and a field for a key that exists already. */
export function Connect({ wallet, onWallet, onSecret }: ConnectProps) {
  const [found, setFound] = useState<readonly Announced[]>([])
  useEffect(() => discoverWallets((each) => setFound((known) => [...known, each])), [])
  useEffect(() => {
    if (wallet === undefined) return
    const { provider } = wallet
    const listener = (accounts: unknown) => {
      const address = firstAccount(accounts)
      if (address === undefined) onWallet(undefined)
      else if (address.toLowerCase() !== wallet.address.toLowerCase())
        onWallet({ ...wallet, address })
    }
    provider.on?.('accountsChanged', listener)
    return () => provider.removeListener?.('accountsChanged', listener)
  }, [wallet])
  return (
    <div class="stack">
      <h2 class="sub">{t.connect}</h2>
      {wallet === undefined ? (
        <>
          <p class="note">{t.connectNote}</p>
          <div class="acts">
            {found.map((announced) => (
              <Choice key={announced.uuid} announced={announced} onWallet={onWallet} />
            ))}
          </div>
          {found.length === 0 && <Elsewhere />}
        </>
      ) : (
        <p class="code address">{t.connected(wallet.address)}</p>
      )}
      <UseKey onSecret={onSecret} />
    </div>
  )
}

/** One wallet; what it does not answer keeps no other waiting. */
function Choice(props: { readonly announced: Announced; onWallet(wallet: Wallet): void }) {
  const { announced, onWallet } = props
  const action = useAction()
  const choose = () =>
    action.run(async () => {
      onWallet(await connect(announced))
    })
  return (
    <div>
      <button type="button" class="btn primary" disabled={action.isRunning} onClick={choose}>
        {announced.name}
      </button>
      <Refusal error={action.error} again={choose} />
    </div>
  )
}

/** Links that open this page in the browser of a wallet, as on a phone. */
function Elsewhere() {
  const { href, host, pathname } = location
  const links = [
    ['MetaMask', `https://metamask.app.link/dapp/${host}${pathname}`],
    ['Coinbase Wallet', `https://go.cb-w.com/dapp?cb_url=${encodeURIComponent(href)}`],
    [
      'Trust Wallet',
      `https://link.trustwallet.com/open_url?coin_id=60&url=${encodeURIComponent(href)}`,
    ],
  ] as const
  return (
    <State title={t.noWallet} more={t.noWalletMore}>
      {links.map(([name, target]) => (
        <a key={name} class="btn small" href={target} rel="noreferrer">
          {t.openIn(name)}
        </a>
      ))}
    </State>
  )
}
