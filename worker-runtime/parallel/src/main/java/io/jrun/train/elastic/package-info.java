/**
 * Training that continues after the loss of some of its workers. Entry class: {@code TrainingState}.
 *
 * <p>A training that goes on when a worker is killed:
 *
 * {@snippet file="io/jrun/train/elastic/ElasticExample.java"}
 */
@NullMarked
package io.jrun.train.elastic;

import org.jspecify.annotations.NullMarked;
