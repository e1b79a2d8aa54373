// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {IERC20Metadata} from "@openzeppelin/contracts/token/ERC20/extensions/IERC20Metadata.sol";

/// @title A pair with the views, the curve of stable pairs and the event of Solidly's; no fee, no LP shares.
contract SolidlyPair {
    event Sync(uint256 reserve0, uint256 reserve1);

    address public immutable token0;
    address public immutable token1;
    bool public immutable stable;
    uint256 private immutable one0;
    uint256 private immutable one1;

    constructor(address first, address second, bool stable_) {
        (token0, token1) = first < second ? (first, second) : (second, first);
        stable = stable_;
        one0 = 10 ** IERC20Metadata(token0).decimals();
        one1 = 10 ** IERC20Metadata(token1).decimals();
    }

    function getReserves() public view returns (uint256 reserve0, uint256 reserve1, uint256 updatedAt) {
        return (IERC20(token0).balanceOf(address(this)), IERC20(token1).balanceOf(address(this)), block.timestamp);
    }

    function sync() external {
        (uint256 reserve0, uint256 reserve1,) = getReserves();
        emit Sync(reserve0, reserve1);
    }

    function getAmountOut(uint256 amountIn, address tokenIn) external view returns (uint256) {
        (uint256 reserve0, uint256 reserve1,) = getReserves();
        bool isFirst = tokenIn == token0;
        (uint256 own, uint256 other) = isFirst ? (reserve0, reserve1) : (reserve1, reserve0);
        if (!stable) return amountIn * other / (own + amountIn);
        (uint256 oneIn, uint256 oneOut) = isFirst ? (one0, one1) : (one1, one0);
        (uint256 x, uint256 y) = (own * 1e18 / oneIn, other * 1e18 / oneOut);
        return (y - afterSwap(x + amountIn * 1e18 / oneIn, curve(x, y), y)) * oneOut / 1e18;
    }

    /// @dev x³y + xy³
    function curve(uint256 x, uint256 y) private pure returns (uint256) {
        return x * y / 1e18 * (x * x / 1e18 + y * y / 1e18) / 1e18;
    }

    /// @dev The other reserve once one of them is `x`.
    function afterSwap(uint256 x, uint256 k, uint256 y) private pure returns (uint256) {
        for (uint256 round = 0; round < 255; round++) {
            uint256 slope = 3 * x * (y * y / 1e18) / 1e18 + x * x / 1e18 * x / 1e18;
            uint256 found = curve(x, y);
            uint256 step = (found > k ? found - k : k - found) * 1e18 / slope;
            y = found > k ? y - step : y + step;
            if (step <= 1) break;
        }
        return y;
    }
}
