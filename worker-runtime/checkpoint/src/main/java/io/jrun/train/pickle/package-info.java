/**
 * Reads files of {@code torch.save} ({@code .pth}, {@code .pt}, {@code .bin}) without executing anything in them. Entry
 * class: {@code TorchFile}.
 */
@NullMarked
package io.jrun.train.pickle;

import org.jspecify.annotations.NullMarked;
