/**
 * The backend {@code gloo}: libtorch's ProcessGroupGloo over TCP, as torch.distributed uses it on CPUs. Entry classes:
 * {@code GlooProvider} for groups, {@code GlooRendezvous} for programs that want the
 * libtorch object itself.
 */
@NullMarked
package io.jrun.train.gloo;

import org.jspecify.annotations.NullMarked;
