// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

import {Ownable} from "@openzeppelin/contracts/access/Ownable.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";

/// @title Pays dividends in any number of reward tokens.
/// @dev A round is funded by `distribute`, shared out by `credit`, and paid when holders `claim`.
contract DividendDistributor is Ownable {
    using SafeERC20 for IERC20;

    event DividendDistributed(address indexed token, uint256 amount);
    event DividendClaimed(address indexed account, address indexed token, uint256 amount);

    error LengthMismatch();

    /// @notice What was funded and not yet credited, in base units of the token.
    mapping(address token => uint256) public uncredited;
    /// @notice What an account may claim, in base units of the token.
    mapping(address account => mapping(address token => uint256)) public creditOf;

    constructor() Ownable(msg.sender) {}

    function distribute(address token, uint256 amount) external {
        uncredited[token] += amount;
        IERC20(token).safeTransferFrom(msg.sender, address(this), amount);
        emit DividendDistributed(token, amount);
    }

    function credit(address token, address[] calldata accounts, uint256[] calldata amounts) external onlyOwner {
        if (accounts.length != amounts.length) revert LengthMismatch();
        for (uint256 i = 0; i < accounts.length; i++) {
            uncredited[token] -= amounts[i];
            creditOf[accounts[i]][token] += amounts[i];
        }
    }

    function claim(address token, uint256 amount) external {
        creditOf[msg.sender][token] -= amount;
        IERC20(token).safeTransfer(msg.sender, amount);
        emit DividendClaimed(msg.sender, token, amount);
    }
}
