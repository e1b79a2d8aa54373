// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @title Pays the token it holds to those who dig graves.
/// @dev For local chains: the digger names the amount, up to what one grave holds.
contract Graveyard {
    using SafeERC20 for IERC20;

    event GraveDug(address indexed digger, uint256 indexed graveId, uint256 amount);

    error MoreThanAGraveHolds(uint256 amount);

    uint256 public constant GRAVE_CAPACITY = 50_000e18;
    IERC20 public immutable token;
    uint256 public graveCount;

    constructor(IERC20 token_) {
        token = token_;
    }

    function dig(uint256 amount) external returns (uint256 graveId) {
        if (amount > GRAVE_CAPACITY) revert MoreThanAGraveHolds(amount);
        graveId = ++graveCount;
        token.safeTransfer(msg.sender, amount);
        emit GraveDug(msg.sender, graveId, amount);
    }
}
