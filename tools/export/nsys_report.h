// A report for the window of Nsight Systems, made by the importer that comes with it.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ddpprof {

// Where vendor, CUDA and distributions put Nsight Systems.
std::vector<std::filesystem::path> nsight_folders();

// The program ImportNvtxt; absent where there is none. Looks beside the `nsys` that `search_path`
// ("a:b", as PATH) finds, links followed: in its folder, in host-linux-x64 there and beside that
// folder; then in host-linux-x64 of each of `folders` and of what is called nsight-systems* in
// them, the newest version first.
std::optional<std::filesystem::path> find_importer(
    std::string_view search_path, const std::vector<std::filesystem::path>& folders);

// Makes `report` of a text (profiler/formats/nvtxt.h): whole, in the place of an older one, or not
// at all; nothing else is left. Throws Error with the importer's last words when it fails.
void import_nvtxt(const std::filesystem::path& importer, const std::string& text,
                  const std::filesystem::path& report);

// What to type in a shell to do the same elsewhere; $D stands for the folder of the importer.
std::string import_command(const std::filesystem::path& text, const std::filesystem::path& report);

}  // namespace ddpprof
