/**
 * The device of a rank's computation: which one it is ({@link io.jrun.train.device.DeviceRequest}), how batches reach it
 * ({@link io.jrun.train.device.DeviceCopies}), how states leave it ({@link io.jrun.train.device.HostCopies}), graphs of its work ({@link io.jrun.train.device.StepGraph}), and its peak
 * ({@link io.jrun.train.device.GpuPeaks}). May use {@code tensor}.
 */
@NullMarked
package io.jrun.train.device;

import org.jspecify.annotations.NullMarked;
