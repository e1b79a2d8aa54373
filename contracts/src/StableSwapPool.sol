// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @title A pool of two 18-decimal tokens with Curve's StableSwap invariant, event and views; no LP shares.
contract StableSwapPool {
    using SafeERC20 for IERC20;

    event TokenExchange(
        address indexed buyer, int128 sold_id, uint256 tokens_sold, int128 bought_id, uint256 tokens_bought
    );

    /// @dev A times the number of coins.
    uint256 private constant ANN = 200;
    /// @dev Of 10^10, as Curve writes it: 0.04 %.
    uint256 private constant FEE = 4_000_000;

    address[2] public coins;

    constructor(address first, address second) {
        coins = [first, second];
    }

    function exchange(int128 i, int128 j, uint256 dx, uint256 minDy) external returns (uint256 dy) {
        require(i + j == 1 && i >= 0 && j >= 0, "two coins");
        uint256 sold = uint256(int256(i));
        uint256 x = balanceOf(sold);
        uint256 y = balanceOf(1 - sold);
        dy = y - afterSwap(x + dx, invariant(x, y)) - 1;
        dy -= dy * FEE / 10 ** 10;
        require(dy >= minDy, "fewer than asked for");
        IERC20(coins[sold]).safeTransferFrom(msg.sender, address(this), dx);
        IERC20(coins[1 - sold]).safeTransfer(msg.sender, dy);
        emit TokenExchange(msg.sender, i, dx, j, dy);
    }

    function balanceOf(uint256 coin) private view returns (uint256) {
        return IERC20(coins[coin]).balanceOf(address(this));
    }

    function invariant(uint256 x, uint256 y) private pure returns (uint256 d) {
        d = x + y;
        for (uint256 round = 0; round < 255; round++) {
            uint256 product = d * d / (2 * x) * d / (2 * y);
            uint256 last = d;
            d = (ANN * (x + y) + 2 * product) * d / ((ANN - 1) * d + 3 * product);
            if (d > last ? d - last <= 1 : last - d <= 1) return d;
        }
    }

    /// @dev The other balance once one of them is `x`.
    function afterSwap(uint256 x, uint256 d) private pure returns (uint256 y) {
        uint256 c = d * d / (2 * x) * d / (2 * ANN);
        uint256 b = x + d / ANN;
        y = d;
        for (uint256 round = 0; round < 255; round++) {
            uint256 last = y;
            y = (y * y + c) / (2 * y + b - d);
            if (y > last ? y - last <= 1 : last - y <= 1) return y;
        }
    }
}
