export default {
  networks: {
    // Without it, each of a burst of transactions moves the chain's clock a second ahead.
    node: { type: 'edr-simulated', chainId: 31337, allowBlocksWithSameTimestamp: true },
  },
}
