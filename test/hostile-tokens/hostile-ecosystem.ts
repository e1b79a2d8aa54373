import { accounts, addresses, type ChainName } from '#devnet/addresses.ts'
import type { LocalFile } from '#devnet/local-ecosystem.ts'
import type { Ecosystem } from '#ecosystem/ecosystem.ts'
import type { EcosystemFile } from '#ecosystem/ecosystem-file.ts'
import { localEcosystemAt } from '#test/indexed-ecosystem.ts'
import { bridgesOn } from './bridges.ts'
import { payer, type WorldPlan } from './world-plan.ts'

const TRANSFER = 'event Transfer(address indexed from, address indexed to, uint256 value)'

/** The local ecosystem as a plan has it, over the nodes of its chains. */
export function hostileEcosystem(
  plan: WorldPlan,
  rpcUrls: Readonly<Partial<Record<ChainName, string>>>,
): Ecosystem {
  return localEcosystemAt({}, (all) => {
    const file = onPlannedChains(all, plan)
    return {
      ...file,
      chains: file.chains.map((chain) => ({
        ...chain,
        rpcUrls: [rpcUrls[chain.name as ChainName] ?? ''],
        proofs: plan.proofs,
      })),
      tokens: file.tokens.map((token) => withBridges(plannedToken(token, plan), plan)),
      dividends: [
        ...(file.dividends ?? []),
        ...plan.chains.flatMap((chain) => payouts(chain, plan)),
      ],
    }
  })
}

function onPlannedChains(file: LocalFile, { chains }: WorldPlan): EcosystemFile {
  const isOn = ({ chain }: { readonly chain: string }) => chains.some((name) => name === chain)
  return {
    ...file,
    chains: file.chains.filter(({ name }) => isOn({ chain: name })),
    tokens: file.tokens.map((token) => ({
      ...token,
      addresses: Object.fromEntries(
        Object.entries(token.addresses).filter(([chain]) => isOn({ chain })),
      ),
    })),
    burns: file.burns.filter(isOn),
    dividends: file.dividends.filter(isOn),
    graveDigs: file.graveDigs.filter(isOn),
  }
}

type FileToken = EcosystemFile['tokens'][number]

function withBridges(token: FileToken, { chains }: WorldPlan): FileToken {
  const bridges = chains
    .flatMap(bridgesOn)
    .filter((each) => each.token === token.symbol)
    .map(({ chain, address, event, amount }) => ({ chain, address, event, amount }))
  return bridges.length === 0 ? token : { ...token, bridges }
}

function plannedToken(token: FileToken, plan: WorldPlan): FileToken {
  const [price] = [token.price].flat()
  // Days pass between the answers of these feeds.
  if (price?.kind === 'chainlink')
    return { ...token, price: { ...price, staleAfterSeconds: 1_000_000_000 } }
  if (token.symbol !== 'GRAVE' && token.symbol !== 'CRYPT') return token
  const decimals = plan.decimals[token.symbol]
  const isFixed = token.symbol === 'CRYPT' && plan.cryptPrice === 'fixed'
  return { ...token, decimals, ...(isFixed && { price: { kind: 'fixed', usd: '1000' } }) }
}

/** Three mappings of one event: two of them match the payer's transfers to the treasury. */
function payouts(chain: ChainName, { isPayerFirst, features }: WorldPlan) {
  if (!features.has('payouts')) return []
  const { grave, usdc } = addresses[chain]
  const transfer = { chain, event: TRANSFER, recipient: 'to', amount: 'value' }
  const own = { ...transfer, address: grave, token: 'GRAVE' }
  const byPayer = { ...own, kind: 'claim' as const, where: { from: [payer] } }
  const toTreasury = { ...own, kind: 'distribution' as const, where: { to: [accounts.treasury] } }
  const inDollars = {
    ...{ ...transfer, address: usdc, token: 'USDC', kind: 'claim' as const },
    where: { from: [payer] },
  }
  return [...(isPayerFirst ? [byPayer, toTreasury] : [toTreasury, byPayer]), inDollars]
}
