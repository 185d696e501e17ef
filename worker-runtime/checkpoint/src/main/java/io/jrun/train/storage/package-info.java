/**
 * The storages of checkpoints: a folder, or a bucket of an object store. The SPI has a few operations on whole objects,
 * and one atomic operation, the commit. Entry class: {@code Storages}.
 */
@NullMarked
package io.jrun.train.storage;

import org.jspecify.annotations.NullMarked;
