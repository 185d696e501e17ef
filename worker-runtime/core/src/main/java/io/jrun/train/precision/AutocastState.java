package io.jrun.train.precision;

import org.bytedeco.pytorch.global.torch;

/**
 * The autocast settings of a thread, for the CPU and for CUDA devices.
 *
 * @param isCached whether a scope casts each weight once only. A cast without gradients must not be cached: a later use
 *     of the weight in the scope would get no gradient
 */
public record AutocastState(Setting cpu, Setting cuda, boolean isCached) {
    /** Whether autocast is on for a device, and the type of the operations. */
    public record Setting(boolean isEnabled, torch.ScalarType type) {
        private static Setting of(torch.DeviceType device) {
            return new Setting(torch.is_autocast_enabled(device), torch.get_autocast_dtype(device));
        }

        private void apply(torch.DeviceType device) {
            torch.set_autocast_enabled(device, isEnabled);
            torch.set_autocast_dtype(device, type);
        }
    }

    /** The settings of this thread. */
    public static AutocastState current() {
        return new AutocastState(
                Setting.of(torch.DeviceType.CPU), Setting.of(torch.DeviceType.CUDA), torch.is_autocast_cache_enabled());
    }

    /** A copy of the settings without a cache of weights. */
    public AutocastState uncached() {
        return new AutocastState(cpu, cuda, false);
    }

    /** Opens a scope with these settings on this thread. */
    public Autocast open() {
        return new Autocast(this);
    }

    AutocastState with(torch.DeviceType device, boolean isEnabled, torch.ScalarType type) {
        Setting setting = new Setting(isEnabled, type);
        return switch (device) {
            case CPU -> new AutocastState(setting, cuda, isCached);
            case CUDA -> new AutocastState(cpu, setting, isCached);
            default -> throw new IllegalArgumentException("autocast is for CPU and CUDA devices, not for " + device);
        };
    }

    void apply() {
        cpu.apply(torch.DeviceType.CPU);
        cuda.apply(torch.DeviceType.CUDA);
        torch.set_autocast_cache_enabled(isCached);
    }
}
