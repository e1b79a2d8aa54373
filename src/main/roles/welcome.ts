import type { Devnet } from '#devnet/start-devnet.ts'
import { type Ecosystem, notConfigured } from '#ecosystem/ecosystem.ts'

/** Ready to paste. */
export function welcome(input: {
  readonly url: string
  readonly tookMs: number
  readonly ecosystem: Ecosystem
  /** Undefined on the operator's own chains. */
  readonly chains: Devnet | undefined
}): string {
  const { url, chains } = input
  const lines = [
    '',
    `Sexton is ready on ${url} (after ${(input.tookMs / 1000).toFixed(1)} s). Try:`,
    '',
    ...requestsFor(input.ecosystem).map((request) => `  curl ${request(url)}`),
    '',
    `Interactive documentation: ${url}/scalar/v1`,
  ]
  if (chains !== undefined) lines.push(...aboutChains(url, chains))
  lines.push('', 'Stop with Ctrl+C; the next start resumes from here.', '')
  return lines.join('\n')
}

/** Only for configured parts. */
function requestsFor(ecosystem: Ecosystem): readonly ((url: string) => string)[] {
  const missing = notConfigured(ecosystem)
  const [chain] = ecosystem.chains
  const burns = (url: string) => `'${url}/api/burns?period=7d&chain=${chain?.name}'`
  const dividends = (url: string) => `'${url}/api/dividends/recent?limit=3'`
  const graveDigs = (url: string) => `'${url}/api/grave-digs/leaderboard?limit=5'`
  return [
    (url) => `${url}/api/stats`,
    ...(missing.includes('burns') ? [] : [burns]),
    (url) => `'${url}/api/stats/history?metric=holders&period=90d&format=csv'`,
    ...(missing.includes('dividends') ? [] : [dividends]),
    ...(missing.includes('graveDigs') ? [] : [graveDigs]),
    (url) => `-i ${url}/api/usage`,
  ]
}

function aboutChains(url: string, { chains, wallets }: Devnet): readonly string[] {
  const { base, ethereum } = chains
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
    `  ${base.client.addresses.usdc} on base (${base.rpcUrl}; ethereum is ${ethereum.rpcUrl})`,
    `  to ${wallets.payTo.address}, with fees of 0 (maxFeePerGas, maxPriorityFeePerGas),`,
    'and POST the transaction to /api/sessions/prepay.',
  ]
}
