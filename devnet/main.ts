import { parseArgs } from 'node:util'
import { startDevnet } from '#devnet/start-devnet.ts'

/** Runs the local chains alone until a signal: `node devnet/main.ts --port 8545`. */
async function main(): Promise<void> {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '8545' },
      'ethereum-port': { type: 'string' },
      data: { type: 'string', default: '.sexton/devnet' },
      days: { type: 'string', default: '120' },
    },
  })
  const basePort = Number(values.port)
  const asked = new Promise<void>((resolve) => {
    process.once('SIGINT', () => resolve())
    process.once('SIGTERM', () => resolve())
  })
  const began = performance.now()
  const devnet = await startDevnet({
    dataFolder: values.data,
    basePort,
    ethereumPort: Number(values['ethereum-port'] ?? basePort + 1),
    historyDays: Number(values.days),
    log: (line) => console.log(line),
  })
  console.log(`ready after ${Math.round(performance.now() - began)} ms`)
  for (const [name, chain] of Object.entries(devnet.chains)) {
    console.log(`${name}: chain id ${chain.chainId} at ${chain.rpcUrl}`)
  }
  for (const [name, wallet] of Object.entries(devnet.wallets)) {
    console.log(`${name}: ${wallet.address} ${wallet.privateKey}`)
  }
  await asked
  await devnet.stop()
}

await main()
