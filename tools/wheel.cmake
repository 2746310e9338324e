# How tools/wheel.py builds llama.cpp: `cmake -C`.
set(BUILD_SHARED_LIBS ON CACHE BOOL "")
set(CMAKE_BUILD_TYPE Release CACHE STRING "")
set(CMAKE_BUILD_WITH_INSTALL_RPATH ON CACHE BOOL "")
set(CMAKE_PLATFORM_NO_VERSIONED_SONAME ON CACHE BOOL "") # a wheel holds no links
set(GGML_NATIVE OFF CACHE BOOL "")
set(GGML_METAL_EMBED_LIBRARY ON CACHE BOOL "")
set(LLAMA_CURL OFF CACHE BOOL "")
foreach(part COMMON EXAMPLES SERVER TESTS TOOLS)
  set(LLAMA_BUILD_${part} OFF CACHE BOOL "")
endforeach()
if(CMAKE_HOST_UNIX AND NOT CMAKE_HOST_APPLE)
  set(GGML_BACKEND_DL ON CACHE BOOL "")
  set(GGML_CPU_ALL_VARIANTS ON CACHE BOOL "") # those that wheel.patch leaves
  set(GGML_OPENMP OFF CACHE BOOL "") # no libgomp is asked of the system
  set(CMAKE_INSTALL_RPATH "$ORIGIN" CACHE STRING "")
  # Small, and no library says in which folder it was built.
  set(FLAGS "-fvisibility=hidden -ffunction-sections -fdata-sections -ffile-prefix-map=${SOURCE}=.")
  foreach(language C CXX)
    set(CMAKE_${language}_FLAGS "${FLAGS}" CACHE STRING "")
  endforeach()
  foreach(kind SHARED MODULE)
    set(CMAKE_${kind}_LINKER_FLAGS "-s -Wl,--gc-sections" CACHE STRING "")
  endforeach()
endif()
