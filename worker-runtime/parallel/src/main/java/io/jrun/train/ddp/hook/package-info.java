/**
 * Other ways to exchange gradients than one all-reduce for each bucket. Register one with
 * {@link io.jrun.train.ddp.DistributedDataParallel#registerHook}.
 */
@NullMarked
package io.jrun.train.ddp.hook;

import org.jspecify.annotations.NullMarked;
