import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { eventKinds } from '#chains/kinds/kinds.ts'
import type { Devnet } from '#devnet/start-devnet.ts'

/** Returns text with commands that are ready to paste. */
export function welcome(input: {
  readonly url: string
  readonly tookMs: number
  readonly ecosystem: Ecosystem
  /** Whether all history is read, so that every figure is there. */
  readonly isWhole: boolean
  /** Undefined on the operator's own chains. */
  readonly chains: Devnet | undefined
}): string {
  const { url, chains, isWhole } = input
  const after = `(after ${(input.tookMs / 1000).toFixed(1)} s)`
  const lines = [
    '',
    isWhole
      ? `Sexton is ready on ${url} ${after}. Try:`
      : `Sexton answers on ${url} ${after} for the newest days. It still reads older history, which holders, supply and totals need; /readyz says how far. Try:`,
    '',
    `  curl ${url}/api/stats`,
    ...requestsFor(input.ecosystem).map((path) => `  curl '${url}${path}'`),
    `  curl -i ${url}/api/usage`,
    '',
    `Interactive documentation: ${url}/scalar/v1`,
  ]
  if (chains !== undefined) lines.push(...aboutChains(url, chains))
  lines.push('', 'Stop with Ctrl+C; the next start resumes from here.', '')
  return lines.join('\n')
}

/** Suggests requests for configured parts only. */
function requestsFor(ecosystem: Ecosystem): readonly string[] {
  const [chain] = ecosystem.chains
  const configured = eventKinds.filter(({ part }) => ecosystem[part].length > 0)
  return [
    '/api/stats/history?metric=holders&period=90d&format=csv',
    ...configured.map((kind) => kind.example(chain?.name ?? 'all')),
  ]
}

function aboutChains(url: string, { chains, wallets }: Devnet): readonly string[] {
  const { base, ...others } = chains
  const elsewhere = Object.entries(others).map(([name, { rpcUrl }]) => `${name} is ${rpcUrl}`)
  return [
    '',
    'Test wallets on the local chains (their keys are public):',
    `  holder   ${wallets.holder.address}  passes the gate, has USDC   key ${wallets.holder.privateKey}`,
    `  premium  ${wallets.premium.address}  premium tier               key ${wallets.premium.privateKey}`,
    `  poor     ${wallets.poor.address}  below the gate             key ${wallets.poor.privateKey}`,
    '',
    'Mint a key: sign the text of',
    `  curl '${url}/api/keys/message?address=${wallets.holder.address}&action=mint'`,
    'with the holder wallet (personal_sign) and POST {ownerAddress, message, signature} to',
    '/api/keys. To prepay, send USDC',
    `  ${base.client.addresses.usdc} on base (${base.rpcUrl}; ${elsewhere.join(', ')})`,
    `  to ${wallets.payTo.address}, with fees of 0 (maxFeePerGas, maxPriorityFeePerGas),`,
    'and POST the transaction to /api/sessions/prepay.',
  ]
}
