package io.jrun.comm.cuda;

/** The words of libcufile's errors. The numbers are those of CUfileOpError in NVIDIA's cufile.h. Stateless. */
final class CuFileError {
    private CuFileError() {}

    static String words(int code) {
        return switch (code) {
            case 5001 -> "the kernel module nvidia-fs is not loaded";
            case 5002 -> "a property is invalid";
            case 5003 -> "a property is out of range";
            case 5004 -> "nvidia-fs has another version than the library";
            case 5005 -> "the version of nvidia-fs cannot be read";
            case 5006 -> "the driver is being closed";
            case 5007 -> "this platform does not support GPUDirect Storage";
            case 5008 -> "the file system does not support GPUDirect Storage";
            case 5009 -> "the GPU does not support GPUDirect Storage";
            case 5010 -> "a call of nvidia-fs failed";
            case 5011 -> "CUDA's driver reported an error";
            case 5012 -> "the address is no device memory";
            case 5013 -> "the memory has a type that cannot be used";
            case 5014 -> "the range ends behind the allocated memory";
            case 5015 -> "the memory belongs to another CUDA context";
            case 5016 -> "the range is larger than the GPU can map";
            case 5017 -> "the range ends behind the mapped memory";
            case 5018 -> "the file is no regular file";
            case 5019 -> "the file is open with flags that cannot be used";
            case 5020 -> "the file is not open with O_DIRECT";
            case 5022 -> "an argument is invalid";
            case 5023 -> "the memory is registered already";
            case 5024 -> "the memory is not registered";
            case 5025 -> "permission denied for the driver or the file";
            case 5026 -> "the driver is open already";
            case 5027 -> "the file is not registered";
            case 5028 -> "the file is registered already";
            case 5029 -> "the GPU was not found";
            case 5030 -> "an internal error of the library";
            case 5031 -> "the library got no descriptor";
            case 5033 -> "nvidia-fs cannot be initialised";
            case 5034 -> "cufile.json forbids GPUDirect Storage for this file";
            case 5036 -> "the GPU's memory cannot be pinned";
            default -> "unknown";
        };
    }
}
