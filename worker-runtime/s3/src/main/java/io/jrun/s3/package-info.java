/**
 * Checkpoints in buckets of Amazon S3 and of stores with the same protocol. Entry class: {@code S3StorageProvider},
 * which {@code io.jrun.train.storage.Storages} finds for locations that begin with {@code s3:}.
 */
@NullMarked
package io.jrun.s3;

import org.jspecify.annotations.NullMarked;
