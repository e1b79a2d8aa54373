import { useEffect, useState } from 'preact/hooks'
import type { Service } from 'sexton-client'
import { count } from '../parts/format.ts'
import { texts } from '../texts.ts'
import { Connect } from './connect.tsx'
import { Facts, Gate } from './gate.tsx'
import { KeyList } from './key-list.tsx'
import { Mint, Slip } from './mint.tsx'
import { MintElsewhere } from './mint-elsewhere.tsx'
import { State } from './refusal.tsx'
import { Topup } from './topup.tsx'
import { Usage } from './usage.tsx'
import { useKeys } from './use-keys.ts'
import { useUsage } from './use-usage.ts'
import { isContract as isContractAt, type Wallet } from './wallet.ts'

/** Connect, mint, manage, top up. What was signed for is kept in memory only. */
export function KeysPage({ service }: { readonly service: Service }) {
  const t = texts.keys
  const [wallet, setWallet] = useState<Wallet>()
  const { obstacle, noteGate } = useObstacle(wallet)
  const { known, minted, turn, hide, list, change, show, credit, use } = useKeys()
  const own = known.get(wallet?.address.toLowerCase() ?? '')
  const usage = useUsage(turn)
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
        <Needs service={service} />
        <div class="panels">
          <div class="p5 stack">
            <Connect wallet={wallet} onWallet={setWallet} onSecret={use} />
            {wallet === undefined && canMint && <MintElsewhere onMinted={show} />}
            {wallet !== undefined && canMint && (
              <Gate address={wallet.address} trade={service.links.trade} onGate={noteGate} />
            )}
          </div>
          <div class="p7 stack">
            {minted !== undefined && <Slip minted={minted} onHide={hide} />}
            {wallet !== undefined && canMint && (
              <Mint
                key={`mint ${wallet.address}`}
                wallet={wallet}
                obstacle={obstacle}
                onMinted={show}
              />
            )}
            {wallet !== undefined && (
              <KeyList
                key={`list ${wallet.address}`}
                wallet={wallet}
                known={own}
                days={usage.days}
                most={service.limits.activeKeysPerWallet}
                onKeys={list}
                onKey={change}
                onMinted={show}
              />
            )}
          </div>
          <div class="p5 stack">
            <Usage {...usage} />
          </div>
          {wallet !== undefined && service.pricing !== null && (
            <div class="p7">
              <Topup
                key={wallet.address}
                wallet={wallet}
                service={service}
                pricing={service.pricing}
                keys={(own?.keys ?? []).filter(({ status }) => status === 'active')}
                onCredited={credit}
              />
            </div>
          )}
        </div>
      </div>
    </section>
  )
}

/** Why a signature for a key would be refused; the gate's answer about another wallet does not count. */
function useObstacle(wallet: Wallet | undefined) {
  const isContract = useIsContract(wallet)
  const [refused, setRefused] = useState<string>()
  const isClosed = wallet !== undefined && refused === wallet.address
  return {
    obstacle: isContract ? ('contract' as const) : isClosed ? ('closed' as const) : undefined,
    noteGate: (address: string, canMint: boolean) => setRefused(canMint ? undefined : address),
  }
}

/** What calls a day need and what more of them cost, before a wallet is connected. */
function Needs({ service: { tiers, pricing } }: { readonly service: Service }) {
  const t = texts.keys
  return (
    <div class="needs">
      <Facts
        lines={[
          ...tiers.map(
            ({ dailyQuota, requires }) => [t.callsADay(count(dailyQuota)), requires] as const,
          ),
          ...(pricing === null
            ? []
            : [
                [
                  t.furtherCall,
                  t.price(`$${pricing.perCallUsd}`, pricing.assetSymbol, pricing.network),
                ] as const,
              ]),
        ]}
      />
    </div>
  )
}

/** False until the wallet has said so, and where it cannot tell. */
function useIsContract(wallet: Wallet | undefined): boolean {
  const [found, setFound] = useState(false)
  useEffect(() => {
    setFound(false)
    if (wallet !== undefined) isContractAt(wallet).then(setFound, () => setFound(false))
  }, [wallet])
  return found
}
