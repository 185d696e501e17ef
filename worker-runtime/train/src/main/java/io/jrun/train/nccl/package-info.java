@org.jspecify.annotations.NullMarked
package io.jrun.train.nccl;
